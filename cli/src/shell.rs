//! What a shell needs of the command: completions and man pages.

use crate::failure::Result;
use crate::help;
use clap_complete::Shell;
use scumble::Error;
use std::path::{Path, PathBuf};

/// The script that completes the command in a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::visible(), "scumble", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes a page for each command into a folder; returns the files. Unlike everything else that is
/// written here, pages are for everybody to read.
pub fn man(folder: &Path) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
    let mut command = help::visible().disable_help_subcommand(true);
    command.build();
    let mut files = Vec::new();
    let mut open = vec![command];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().filter(|inner| inner.get_name() != "help").cloned());
        let usage = command.clone().render_usage().to_string();
        let page = clap_mangen::Man::new(command);
        let (file, mut text) = (folder.join(page.get_filename()), Vec::new());
        page.render(&mut text).map_err(Error::io(&file, "write"))?;
        let text = with_synopsis(&String::from_utf8_lossy(&text), &usage);
        std::fs::write(&file, text).map_err(Error::io(&file, "write"))?;
        files.push(file);
    }
    files.sort();
    Ok(files)
}

/// The page with the usage line of help as its synopsis, instead of a list of all flags.
fn with_synopsis(page: &str, usage: &str) -> String {
    let usage = usage.trim_start_matches("Usage:").replace('\\', "\\e").replace('-', "\\-");
    let lines: Vec<&str> = usage.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let synopsis = format!(".SH SYNOPSIS\n{}\n", lines.join("\n.br\n"));
    let sections = page.split_inclusive('\n').scan(false, |is_synopsis, line| {
        let starts = line.starts_with(".SH ");
        if starts {
            *is_synopsis = line.trim_end() == ".SH SYNOPSIS";
        }
        Some(match (*is_synopsis, starts) {
            (true, true) => synopsis.as_str(),
            (true, false) => "",
            (false, _) => line,
        })
    });
    sections.collect()
}
