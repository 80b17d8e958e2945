//! The command `scumble`: arguments, jobs, output, exit statuses.

mod advise;
mod args;
mod compare;
mod distribution;
mod effect;
mod ends;
mod failure;
mod help;
mod hierarchy;
mod html;
mod init;
mod instant;
mod interrupts;
mod memory;
mod progress;
mod run;
mod shell;
mod show;
mod text;
mod usage;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use scumble::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is a defect, and its message could hold somebody's data: it is not shown.
    std::panic::set_hook(Box::new(|_| {}));
    let args = match parse() {
        Ok((args, matches)) => match help::check(&matches) {
            Ok(()) => args,
            Err(error) => {
                show::complain(&error.to_string());
                return ExitCode::from(error.status());
            }
        },
        Err(error) if error.use_stderr() => {
            show::complain(&usage::one_line(&error));
            return ExitCode::from(2);
        }
        Err(help_or_version) => {
            let Err(error) = show::print_help(&help_or_version) else { return ExitCode::SUCCESS };
            show::complain(&error.to_string());
            return ExitCode::from(error.status());
        }
    };
    if args.common.memory.is_some() {
        memory::give_back();
    }
    let status = std::panic::catch_unwind(|| run::run(args)).unwrap_or_else(|_| {
        show::complain(&Error::Defect.to_string());
        Error::Defect.kind() as u8
    });
    ExitCode::from(status)
}

/// What was typed. Most runs need neither the long texts and examples of all commands nor the
/// styles, so these are only prepared if there is something to tell.
fn parse() -> Result<(args::Args, ArgMatches), clap::Error> {
    let plain = args::Args::command().try_get_matches();
    let matches = plain.or_else(|_| help::command().try_get_matches())?;
    Ok((args::Args::from_arg_matches(&matches)?, matches))
}
