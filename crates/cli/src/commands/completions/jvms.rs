//! The JVMs that run, in the scripts of shells: clap's scripts know words that are known beforehand alone.

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

/// The hint by which the script of zsh marks arguments that take a JVM. No argument takes the name of a user.
const JVM: ValueHint = ValueHint::Username;
/// zsh's function for that hint.
const USERS: &str = ":_users";

/// Returns true if an argument takes the process id of a JVM.
fn takes_jvm(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    argument.is_positional() && names.iter().any(|name| name.starts_with("PID"))
}

/// Marks the arguments that take a JVM.
pub(super) fn hinted(command: Command) -> Command {
    command.mut_subcommands(|command| {
        command.mut_args(|argument| match takes_jvm(&argument) {
            true => argument.value_hint(JVM),
            false => argument,
        })
    })
}

/// The names and aliases of commands that take a JVM.
pub(super) fn takers(command: &Command) -> Vec<String> {
    let commands = command.get_subcommands();
    let commands = commands.filter(|command| command.get_arguments().any(takes_jvm));
    let names = commands.flat_map(Command::get_name_and_visible_aliases);
    names.map(str::to_owned).collect()
}

/// A script of clap with the JVMs. Other shells complete no process ids.
pub(super) fn added(shell: Shell, script: String, takers: &[String]) -> String {
    match shell {
        Shell::Bash => script + &BASH.replace("{TAKERS}", &takers.join("|")),
        Shell::Zsh => {
            let script = script.replace(USERS, ":_hprof-rs_jvms");
            // The functions stand before the lines that call the first.
            match script.split_once('\n') {
                Some((first, rest)) => format!("{first}\n{ZSH}{rest}"),
                None => script,
            }
        }
        Shell::Fish => script + &FISH.replace("{TAKERS}", &takers.join(" ")),
        _ => script,
    }
}

/// A word that begins with a digit stands for process ids, another for programs. bash has no place for descriptions: while several
/// process ids fit, each is shown with its program, and one alone is inserted without.
const BASH: &str = r#"
_hprof__rs_jvms() {
    _hprof__rs "$@"
    local cur="${COMP_WORDS[COMP_CWORD]}" pid name
    [[ ${COMP_CWORD} -lt 2 || ${cur} == -* || ${COMP_WORDS[COMP_CWORD-1]} == -* ]] && return 0
    case "${COMP_WORDS[1]}" in
        {TAKERS}) ;;
        *) return 0 ;;
    esac
    local found=() shown=()
    while IFS=$'\t' read -r pid name; do
        if [[ ${pid} == "${cur}"* ]]; then
            found+=("${pid}")
            shown+=("${pid}  (${name})")
        elif [[ ${name} == "${cur}"* ]]; then
            found+=("${name}")
            shown+=("${name}")
        fi
    done < <("${COMP_WORDS[0]}" ps --complete 2>/dev/null)
    case ${#found[@]} in
        0) ;;
        1) COMPREPLY=("${found[0]}") ;;
        *) COMPREPLY=("${shown[@]}") ;;
    esac
}
complete -F _hprof__rs_jvms -o nosort -o bashdefault -o default hprof-rs
"#;

const ZSH: &str = r#"
_hprof-rs_jvms() {
    local -a jvms
    local pid name
    while IFS=$'\t' read -r pid name; do
        jvms+=("${pid}:${name}")
    done < <(command hprof-rs ps --complete 2>/dev/null)
    _alternative "jvms:running JVM:((${(j: :)${(q)jvms}}))" 'files:file:_files'
}
"#;

const FISH: &str = r#"
complete -c hprof-rs -n "__fish_seen_subcommand_from {TAKERS}" -a "(command hprof-rs ps --complete 2>/dev/null)"
"#;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn commands_that_take_a_process_id_complete_it() {
        let command = hinted(Cli::command());
        let takers = takers(&command);
        for name in [
            "attach", "control", "record", "stacks", "dump", "live", "profile",
        ] {
            assert!(takers.iter().any(|it| it == name), "{name}: {takers:?}");
        }
        assert!(!takers.iter().any(|it| it == "report"), "{takers:?}");
        // The mark is of no other use.
        let own = Cli::command();
        let mut arguments = own.get_subcommands().flat_map(Command::get_arguments);
        assert!(arguments.all(|argument| argument.get_value_hint() != JVM));
    }
}
