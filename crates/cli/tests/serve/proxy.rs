//! A way to a server that breaks off, answers for it, or stands still.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The fate of a connection.
#[derive(Clone, Copy)]
pub enum Fault {
    /// It breaks off after N bytes of the client.
    Cut(usize),
    /// The client gets these bytes for an answer.
    Say(&'static str),
    /// After N bytes of the client nothing is read any more, and the connection stays.
    Stall(usize),
}

/// A way to a server.
pub struct Proxy {
    pub address: String,
    server: Arc<Mutex<String>>,
    faults: Arc<Mutex<VecDeque<Fault>>>,
}

impl Proxy {
    /// Connections meet these faults, one each; after that all is well.
    pub fn new(server: &str, faults: &[Fault]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = Self {
            address: listener.local_addr().unwrap().to_string(),
            server: Arc::new(Mutex::new(server.to_owned())),
            faults: Arc::new(Mutex::new(faults.iter().copied().collect())),
        };
        let (server, faults) = (Arc::clone(&proxy.server), Arc::clone(&proxy.faults));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let fault = faults.lock().unwrap().pop_front();
                let server = server.lock().unwrap().clone();
                thread::spawn(move || carry(client, &server, fault));
            }
        });
        proxy
    }

    /// Leads elsewhere from now on.
    pub fn lead_to(&self, server: &str) {
        server.clone_into(&mut self.server.lock().unwrap());
    }

    /// The faults that no client has met yet.
    pub fn left(&self) -> usize {
        self.faults.lock().unwrap().len()
    }
}

fn carry(mut client: TcpStream, server: &str, fault: Option<Fault>) {
    if let Some(Fault::Say(answer)) = fault {
        let mut head = [0; 4096];
        let _ = client.read(&mut head);
        let _ = client.write_all(answer.as_bytes());
        return;
    }
    let Ok(mut server) = TcpStream::connect(server) else {
        return;
    };
    let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let most = match fault {
        Some(Fault::Cut(most) | Fault::Stall(most)) => most,
        _ => usize::MAX,
    };
    let mut carried = 0;
    let mut buffer = [0; 8192];
    while carried < most {
        let Ok(length @ 1..) = client.read(&mut buffer) else {
            break;
        };
        let length = length.min(most - carried);
        if server.write_all(&buffer[..length]).is_err() {
            break;
        }
        carried += length;
    }
    if let (Some(Fault::Stall(_)), true) = (fault, carried == most) {
        // Until the test has ended.
        thread::sleep(Duration::from_secs(600));
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}
