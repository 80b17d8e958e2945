//! What a terminal sees: progress that is gone at the end, colours that can be switched off, and
//! that a pipe sees neither.

use crate::bed::Bed;
use std::process::Command;

/// Runs the command with a terminal of 100 columns for some of its streams, and prints what came
/// out of the terminal and of the pipe.
const PTY: &str = r#"
import fcntl, os, pty, struct, subprocess, sys, termios, threading
streams, arguments = sys.argv[1].split(","), sys.argv[2:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
ends = {name: slave if name in streams else subprocess.PIPE for name in ("stdout", "stderr")}
process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, **ends)
os.close(slave)
seen = bytearray()
def look():
    try:
        while piece := os.read(master, 4096):
            seen.extend(piece)
    except OSError:
        pass
looking = threading.Thread(target=look)
looking.start()
piped = b"".join(part or b"" for part in process.communicate())
looking.join()
sys.stdout.buffer.write(b"%d\0" % process.returncode + bytes(seen) + b"\0" + piped)
"#;

/// What a run with a terminal left behind.
struct Seen {
    status: String,
    terminal: String,
    pipe: String,
}

/// Runs a command with a terminal for some streams; `None` without Python.
fn on_terminal(
    bed: &Bed,
    streams: &str,
    environment: &[(&str, &str)],
    arguments: &[&str],
) -> Option<Seen> {
    let mut python = Command::new("python3");
    python.args(["-c", PTY, streams, env!("CARGO_BIN_EXE_scumble")]).args(arguments);
    python.current_dir(bed.path(".")).env("TERM", "xterm-256color");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "CI"] {
        python.env_remove(name);
    }
    python.envs(environment.iter().copied());
    let Ok(output) = python.output() else {
        crate::bed::skipped("there is no python3");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut parts = text.split('\0').map(String::from);
    let mut next = || parts.next().unwrap();
    Some(Seen { status: next(), terminal: next(), pipe: next() })
}

const SLOW: [&str; 8] =
    ["anonymize", "table.csv", "-p", "policy.toml", "-o", "out.csv", "--time-limit", "2s"];

/// A table whose search goes on until its time limit.
fn census() -> Bed {
    let bed = Bed::new();
    let table = ["--rows", "600", "--seed", "1", "-o", "table.csv", "--policy", "policy.toml"];
    bed.run(&[&["generate", "census"], &table[..]].concat()).ok();
    bed
}

/// What is left on the lines of a terminal, roughly: text is written where the line begins, and
/// lines are erased.
fn screen(bytes: &str) -> String {
    let (mut lines, mut rest) = (vec![String::new()], bytes);
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        let last = lines.len() - 1;
        match character {
            '\n' => lines.push(String::new()),
            '\r' => {}
            '\u{1b}' => {
                let end = rest.find(|one: char| one.is_ascii_alphabetic()).unwrap();
                if &rest[end..=end] == "K" {
                    lines[last].clear();
                }
                rest = &rest[end + 1..];
            }
            _ => lines[last].push(character),
        }
    }
    lines.join("\n")
}

#[test]
fn progress_is_shown_on_a_terminal_and_removed() {
    let bed = census();
    for more in [&[][..], &["--json"]] {
        let arguments = [&SLOW[..], &["--algorithm", "local"], more].concat();
        let Some(seen) = on_terminal(&bed, "stderr", &[], &arguments) else { return };
        assert_eq!(seen.status, "0", "{}", seen.terminal);
        // The phase, the share of the whole job, and what is left.
        assert!(seen.terminal.contains("search: "), "{:?}", seen.terminal);
        assert!(seen.terminal.contains(" % "), "{:?}", seen.terminal);
        assert!(seen.terminal.contains(" left"), "{:?}", seen.terminal);
        assert_eq!(screen(&seen.terminal).trim(), "", "{:?}", seen.terminal);
        assert!(!seen.pipe.contains('\u{1b}') && !seen.pipe.contains("search: "), "{}", seen.pipe);
        let is_json = serde_json::from_str::<serde_json::Value>(&seen.pipe).is_ok();
        assert_eq!(is_json, !more.is_empty(), "{}", seen.pipe);
    }
}

#[test]
fn a_pipe_sees_no_progress() {
    let bed = census();
    let outcome = bed.run(&[&SLOW[..], &["--algorithm", "local"]].concat()).ok();
    assert!(!outcome.stdout.contains('\u{1b}'), "{outcome:?}");
}

#[test]
fn colours_are_for_terminals_and_can_be_switched_off() {
    let bed = Bed::people();
    bed.anonymize(&[]).ok();
    let fails = ["verify", "out.csv", "-p", "policy.toml", "-k", "4"];
    let (green, red) = ("\u{1b}[32mholds\u{1b}[0m", "\u{1b}[1m\u{1b}[31mFAILS\u{1b}[0m");
    let verify = |streams, environment: &[_], more: &[&str]| {
        on_terminal(&bed, streams, environment, &[&fails[..4], more].concat())
    };
    let Some(seen) = verify("stdout,stderr", &[], &[]) else { return };
    assert!(seen.terminal.contains(green), "{:?}", seen.terminal);
    let seen = verify("stdout,stderr", &[], &fails[4..]).unwrap();
    assert!(seen.terminal.contains(red) && seen.status == "1", "{:?}", seen.terminal);
    // One stream is a terminal, and the other is not.
    let seen = verify("stderr", &[], &fails[4..]).unwrap();
    assert!(!seen.pipe.contains('\u{1b}') && seen.pipe.contains("FAILS"), "{:?}", seen.pipe);
    assert!(seen.terminal.contains("\u{1b}[1m\u{1b}[31mscumble:"), "{:?}", seen.terminal);
    for off in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
        let seen = verify("stdout,stderr", &[off], &fails[4..]).unwrap();
        assert!(!seen.terminal.contains('\u{1b}'), "{off:?}: {:?}", seen.terminal);
        assert!(seen.terminal.contains("FAILS"), "{off:?}: {:?}", seen.terminal);
    }
    let seen = verify("stderr", &[("CLICOLOR_FORCE", "1")], &[]).unwrap();
    assert!(seen.pipe.contains(green), "{:?}", seen.pipe);
    // Nothing but JSON is printed with --json, whatever the stream.
    let seen = verify("stdout,stderr", &[], &["--json"]).unwrap();
    assert!(!seen.terminal.contains('\u{1b}'), "{:?}", seen.terminal);
}

/// The name of a file, a column or a value may hold anything.
#[test]
fn names_cannot_control_a_terminal() {
    let bed = Bed::people();
    bed.edit("table.csv", "city", "ci\u{1b}[31mty");
    bed.edit("policy.toml", "attributes.city", "attributes.\"ci\\u001b[31mty\"");
    let more = ["--algorithm", "incognito"];
    let outcome = bed.anonymize(&more).ok();
    assert!(outcome.stdout.contains("ci\\u{1b}[31mty"), "{outcome:?}");
    assert!(!outcome.stdout.contains('\u{1b}'), "{outcome:?}");
}

/// `compare` and `show` have the same headings as other commands.
#[test]
fn tables_and_portraits_have_headings() {
    let bed = Bed::people();
    bed.anonymize(&[]).ok();
    let compare = ["compare", "table.csv", "-p", "policy.toml"];
    let show = ["show", "out.csv", "-p", "policy.toml"];
    let headings = [
        (&compare, ["\u{1b}[1mtable.csv\u{1b}[0m: 6 rows", "\u{1b}[1m  recoding "]),
        (&show, ["\u{1b}[1mage: quasi-identifier, integer\u{1b}[0m\n", "\u{1b}[1mclasses by size"]),
    ];
    for (command, expected) in headings {
        let Some(seen) = on_terminal(&bed, "stdout", &[], command) else { return };
        let text = seen.terminal.replace("\r\n", "\n");
        for part in expected {
            assert!(text.contains(part), "{part:?}: {text:?}");
        }
        let plain = on_terminal(&bed, "stdout", &[("NO_COLOR", "1")], command).unwrap();
        assert!(!plain.terminal.contains('\u{1b}'), "{:?}", plain.terminal);
        assert!(!bed.run(command).ok().stdout.contains('\u{1b}'));
    }
}
