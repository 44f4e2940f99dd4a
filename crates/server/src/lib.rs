//! `hprof-rs serve`: keeps heap dumps and profiles, has them analysed by workers of their own, and
//! answers questions about them over HTTP.
//!
//! The catalogue knows what there is, the store holds the files, jobs start workers, views answer
//! questions about an analysis, the API is the only part that knows HTTP. [`live`] records the JVMs of
//! this machine.

// A build without server or fleet has code of them that nothing calls.
#![cfg_attr(not(feature = "fleet"), allow(dead_code))]

pub mod access;
#[cfg(feature = "serve")]
pub mod api;
pub mod catalogue;
mod config;
#[cfg(feature = "serve")]
mod connections;
mod counters;
pub mod events;
#[cfg(feature = "serve")]
mod farewell;
pub mod fleet;
#[cfg(feature = "serve")]
mod folder_lock;
mod health;
pub mod ids;
pub mod intake;
pub mod jobs;
pub mod live;
mod pace;
mod problem;
#[cfg(feature = "serve")]
pub mod pushed;
mod rates;
pub mod retention;
pub mod rules;
#[cfg(feature = "serve")]
mod server;
pub mod state;
pub mod store;
mod temporary;
mod time;
#[cfg(feature = "serve")]
mod tls;
pub mod views;
pub mod worker_status;

pub use config::{Config, DATABASE_VARIABLE, Fleet, PushedRetention, Retention};
#[cfg(feature = "serve")]
pub use connections::ConnectionLimits;
pub use pace::MinimumPace;
pub use problem::Problem;
#[cfg(feature = "serve")]
pub use server::{Server, StartError, make_folder, open_catalogue};
pub use temporary::{TemporaryFolder, temporary_folder};
pub use time::Millis;

impl From<catalogue::CatalogueError> for Problem {
    fn from(error: catalogue::CatalogueError) -> Self {
        match error {
            catalogue::CatalogueError::Failed(_) => Self::internal(error),
            catalogue::CatalogueError::Away(_) => Self::away(error),
        }
    }
}
