//! What a label says, read by someone who has the release and its documentation only.

/// Where a number or a date lies: dates in the order of the calendar.
pub fn position(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        [year, month, day] if !year.is_empty() => {
            let number = |part: &str| part.parse::<u32>().ok().map(f64::from);
            Some(number(year)? * 10000.0 + number(month)? * 100.0 + number(day)?)
        }
        _ => text.parse().ok(),
    }
}

/// Whether the label of an ordered column covers a value, an empty one where it is missing.
pub fn covers(label: &str, value: &str) -> bool {
    let Some(number) = position(value) else {
        return value.is_empty() && (label.is_empty() || label == "*");
    };
    let at =
        |text: &str| position(text).unwrap_or_else(|| panic!("{text:?} in the label {label:?}"));
    let inner = |open: char| {
        label.strip_prefix(open).and_then(|rest| rest.strip_suffix(']')?.split_once(", "))
    };
    if label == "*" || label == "any number" {
        true
    } else if label.is_empty() {
        false
    } else if let Some(end) = label.strip_prefix("up to ") {
        number <= at(end)
    } else if let Some(end) = label.strip_prefix("above ") {
        number > at(end)
    } else if let Some((first, last)) = label.split_once(" to ").or_else(|| inner('[')) {
        at(first) <= number && number <= at(last)
    } else if let Some((above, last)) = inner('(') {
        at(above) < number && number <= at(last)
    } else if let Some(single) = position(label) {
        single == number
    } else {
        let (first, last) = label.split_once('-').unwrap_or_else(|| panic!("the label {label:?}"));
        at(first) <= number && number <= at(last)
    }
}

#[test]
fn labels_are_read_as_documented() {
    let held = |label: &str| {
        ["", "-5", "-1", "20", "24", "2.5", "2024-02-29"].map(|value| covers(label, value))
    };
    assert_eq!(held("*"), [true; 7]);
    assert_eq!(held(""), [true, false, false, false, false, false, false]);
    assert_eq!(held("any number"), [false, true, true, true, true, true, true]);
    assert_eq!(held("20-24"), [false, false, false, true, true, false, false]);
    assert_eq!(held("-5 to -2"), [false, true, false, false, false, false, false]);
    assert_eq!(held("[2.5, 20]"), [false, false, false, true, false, true, false]);
    assert_eq!(held("(2.5, 20]"), [false, false, false, true, false, false, false]);
    assert_eq!(held("up to 20"), [false, true, true, true, false, true, false]);
    assert_eq!(held("2024-02-28 to 2024-03-01"), [false, false, false, false, false, false, true]);
}
