//! Profiles that are sent to a receiver: OpenTelemetry's collector, or Pyroscope.

mod destination;
mod origin;
mod parcels;
mod sender;
mod spool;

pub use destination::PushArguments;
pub use origin::add_program;
pub use parcels::parcels;
pub use sender::Sender;
