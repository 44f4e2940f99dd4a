//! Commands and places that a build without some features leaves out.

/// The answer of a command to a wish that a feature of its build would fulfil.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this hprof-rs was built without {wish}; build it with `cargo build --release -p hprof-rs --features \
     {feature}`, or install a package, which has every feature"
)]
pub struct NotBuilt {
    /// The name of the feature in `crates/cli/Cargo.toml`.
    pub feature: &'static str,
    /// The command, or the kind of place, that was asked for.
    pub wish: &'static str,
}

impl NotBuilt {
    /// The exit status: that of a command line that cannot be carried out.
    pub const STATUS: u8 = 2;
}

/// Stands in for a sub-command: takes any arguments, and answers with the name of the feature.
#[allow(
    unused_macros,
    reason = "a build with all features leaves no command out"
)]
macro_rules! command_not_built {
    ($feature:literal $module:ident::$command:ident) => {
        mod $module {
            /// The arguments of the command, which are not read.
            #[derive(Debug, clap::Args)]
            #[command(disable_help_flag = true)]
            pub struct $command {
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                arguments: Vec<std::ffi::OsString>,
            }

            impl $command {
                pub(super) fn execute(self) -> anyhow::Result<std::process::ExitCode> {
                    drop(self.arguments);
                    Err($crate::not_built::NotBuilt {
                        feature: $feature,
                        wish: concat!("`", stringify!($module), "`"),
                    }
                    .into())
                }
            }
        }
    };
}
// Used by builds with fewer features, and by the test.
#[allow(unused_imports)]
pub(crate) use command_not_built;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    command_not_built!("parquet" export::Export);

    #[derive(Debug, Parser)]
    enum Command {
        Export(export::Export),
    }

    #[test]
    fn a_command_that_is_left_out_names_its_feature_whatever_is_asked() {
        for arguments in [
            &["x", "export"][..],
            &["x", "export", "--help"],
            &["x", "export", "heap.hprof", "--parquet", "lake", "-x"],
            &["x", "export", "--parquet=lake", "--", "heap.hprof"],
        ] {
            let Command::Export(command) = Command::try_parse_from(arguments).unwrap();
            let error = command.execute().unwrap_err();
            let expected = NotBuilt {
                feature: "parquet",
                wish: "`export`",
            };
            assert_eq!(error.downcast_ref(), Some(&expected), "{arguments:?}");
            let line = error.to_string();
            assert!(line.contains("--features parquet"), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
