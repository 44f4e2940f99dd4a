//! Connections to the database. Every call has a deadline, and after a failure to connect calls fail
//! at once until the next try is due, so that no caller waits for a database that is away.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::TlsStream;
use tokio_postgres::types::ToSql;
use tokio_postgres::{
    AsyncMessage, Client, Connection, Error, NoTls, Notification, Row, Statement,
};

use super::address::DatabaseAddress;
use super::tls::Tls;
use crate::catalogue::{CatalogueError, Result};

/// Connections of one process.
const MAX_CONNECTIONS: usize = 8;
/// How long a call may take, with the wait for a connection.
const DEADLINE: Duration = Duration::from_secs(8);
/// How long a connection with its greetings may take.
const GREETING: Duration = Duration::from_secs(5);
/// How long the database may take for a statement.
const SETTINGS: &str =
    "SET statement_timeout = '7s'; SET idle_in_transaction_session_timeout = '30s'";
/// The pause after the first failure to connect; it doubles with each.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(3);

/// A connection, with the statements that it has prepared.
pub(super) struct Session {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl Session {
    async fn statement(&mut self, sql: &str) -> std::result::Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// When to try to connect again.
#[derive(Default)]
struct Pause {
    failures: u32,
    until: Option<Instant>,
    reason: String,
}

/// The connections of one process.
pub(super) struct Pool {
    address: DatabaseAddress,
    tls: Option<Tls>,
    idle: Mutex<Vec<Session>>,
    places: Semaphore,
    pause: Mutex<Pause>,
}

impl Pool {
    /// Connections to an address, of which none is made yet.
    pub(super) fn new(address: DatabaseAddress) -> Result<Arc<Self>> {
        let tls = match address.is_encrypted() {
            true => Some(Tls::of_this_machine().map_err(CatalogueError::Failed)?),
            false => None,
        };
        Ok(Arc::new(Self {
            address,
            tls,
            idle: Mutex::default(),
            places: Semaphore::new(MAX_CONNECTIONS),
            pause: Mutex::default(),
        }))
    }

    /// Carries out a statement, and gives its rows.
    pub(super) async fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let call = async {
            let place = self.places.acquire().await;
            let _place = place.map_err(CatalogueError::failed)?;
            let mut session = self.session().await?;
            let asked = async {
                let statement = session.statement(sql).await?;
                session.client.query(&statement, values).await
            };
            let asked = asked.await;
            if !session.client.is_closed() {
                self.idle.lock().push(session);
            }
            asked.map_err(|error| self.failure(&error))
        };
        if let Ok(done) = timeout(DEADLINE, call).await {
            return done;
        }
        // The others may be as dead.
        self.idle.lock().clear();
        Err(self.away("no answer in time"))
    }

    /// A connection that works, as far as is known.
    async fn session(&self) -> Result<Session> {
        loop {
            let idle = self.idle.lock().pop();
            match idle {
                Some(session) if session.client.is_closed() => {}
                Some(session) => return Ok(session),
                None => break,
            }
        }
        let client = self.connect(|_| {}).await?;
        let set = client.batch_execute(SETTINGS).await;
        set.map_err(|error| self.failure(&error))?;
        let prepared = HashMap::new();
        Ok(Session { client, prepared })
    }

    /// A new connection, which tells of notifications.
    pub(super) async fn connect(
        &self,
        tell: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Client> {
        {
            let pause = self.pause.lock();
            if pause.until.is_some_and(|until| Instant::now() < until) {
                return Err(CatalogueError::Away(pause.reason.clone()));
            }
        }
        let config = &self.address.config;
        let connecting = async {
            match &self.tls {
                Some(tls) => {
                    let connected = config.connect(tls.clone()).await;
                    connected.map(|(client, connection)| started(client, connection, tell))
                }
                None => {
                    let connected = config.connect(NoTls).await;
                    connected.map(|(client, connection)| started(client, connection, tell))
                }
            }
        };
        let connected = match timeout(GREETING, connecting).await {
            Ok(Err(error)) if is_of_tls(&error) => {
                let words = in_words(&error);
                return Err(CatalogueError::Failed(format!("{}: {words}", self.address)));
            }
            Ok(connected) => connected.map_err(|error| in_words(&error)),
            Err(_) => Err("no greeting in time".to_owned()),
        };
        let mut pause = self.pause.lock();
        match connected {
            Ok(client) => {
                *pause = Pause::default();
                Ok(client)
            }
            Err(why) => {
                let reason = format!("{}: {why}", self.address);
                let length = MIN_PAUSE * 2_u32.saturating_pow(pause.failures.min(10));
                pause.until = Some(Instant::now() + length.min(MAX_PAUSE));
                pause.failures += 1;
                pause.reason.clone_from(&reason);
                Err(CatalogueError::Away(reason))
            }
        }
    }

    fn away(&self, why: &str) -> CatalogueError {
        CatalogueError::Away(format!("{}: {why}", self.address))
    }

    /// Tells a database that is away from one that refuses.
    pub(super) fn failure(&self, error: &Error) -> CatalogueError {
        let words = in_words(error);
        let is_away = match error.code() {
            None => error.is_closed() || is_of_connection(error),
            Some(code) => {
                // Shutting down, starting, overloaded, or cancelled by a deadline or a deadlock.
                [
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::CANNOT_CONNECT_NOW,
                    SqlState::TOO_MANY_CONNECTIONS,
                    SqlState::QUERY_CANCELED,
                    SqlState::T_R_DEADLOCK_DETECTED,
                    SqlState::T_R_SERIALIZATION_FAILURE,
                    SqlState::READ_ONLY_SQL_TRANSACTION,
                    SqlState::DISK_FULL,
                ]
                .contains(code)
            }
        };
        match is_away {
            true => self.away(&words),
            false => CatalogueError::Failed(words),
        }
    }
}

/// Returns whether the connection failed rather than the statement.
fn is_of_connection(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    source.is_some_and(|source| source.is::<std::io::Error>())
}

/// Returns whether the other side's certificate was refused, which waiting does not mend.
fn is_of_tls(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let of_io = cause.downcast_ref::<std::io::Error>();
        let inner = of_io.and_then(|it| it.get_ref());
        if cause.is::<rustls::Error>() || inner.is_some_and(|it| it.is::<rustls::Error>()) {
            return true;
        }
        source = cause.source();
    }
    false
}

/// An error with its causes.
fn in_words(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{} ({})", said.message(), said.code().code());
    }
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let more = cause.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = cause.source();
    }
    words
}

/// Has a task move the bytes of a connection.
fn started<S, T>(
    client: Client,
    mut connection: Connection<S, T>,
    tell: impl Fn(&Notification) + Send + 'static,
) -> Client
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: TlsStream + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message {
                tell(&notification);
            }
        }
    });
    client
}
