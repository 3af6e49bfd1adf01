//! Personal data in a URL: e-mail addresses, card numbers, social security numbers.
//!
//! Avoids false positives: a warning that is often wrong is soon ignored. Numbers count only if
//! their prefixes and check digits are valid, or under a parameter name that suggests personal
//! data.

/// Whether a parameter contains personal data, by its name or by the format of its value.
pub(super) fn is_personal(name: &str, value: &str) -> bool {
    has_personal_data(value) || (!value.is_empty() && names_personal_data(name, value))
}

/// Whether a text contains an e-mail address, a card number or a social security number.
pub(super) fn has_personal_data(text: &str) -> bool {
    has_email(text) || digit_groups(text).any(|group| is_card(group) || is_ssn(group))
}

fn names_personal_data(name: &str, value: &str) -> bool {
    let name: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (digits >= 6 && NUMBER_NAMES.contains(&name.as_str())) || TEXT_NAMES.contains(&name.as_str())
}

#[rustfmt::skip]
const NUMBER_NAMES: &[&str] = &[
    "ssn", "socialsecurity", "socialsecuritynumber", "dob", "dateofbirth", "birthdate", "birthday",
    "phone", "phonenumber", "mobile", "mobilenumber", "tel", "telephone", "passport",
    "passportnumber", "creditcard", "creditcardnumber", "ccnumber", "cardnumber", "iban",
];

const TEXT_NAMES: &[&str] = &["firstname", "lastname", "fullname", "surname", "givenname"];

/// Examines both sides of every `@`. Each side ends at the next `@`, so this is linear.
fn has_email(text: &str) -> bool {
    text.match_indices('@').any(|(at, _)| {
        let before = &text[..at];
        let local = before.len() - before.trim_end_matches(is_local_char).len();
        // `@user@server` is a Fediverse handle, which is public.
        let is_handle = before[..at - local].ends_with('@');
        let after = &text[at + 1..];
        let end = after
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'))
            .unwrap_or(after.len());
        (1..=64).contains(&local) && !is_handle && is_public_domain(&after[..end])
    })
}

fn is_local_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-' | '\'')
}

/// Whether a domain ends in a known public suffix. `react@18.2.0` and `app@2x.png` do not.
fn is_public_domain(domain: &str) -> bool {
    let domain = domain.trim_end_matches('.');
    if domain.len() > 253 || domain.split('.').any(str::is_empty) {
        return false;
    }
    let domain = domain.to_ascii_lowercase();
    domain.contains('.') && psl::suffix(domain.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

/// Runs of digits, separated by single spaces or hyphens, that are not part of a longer word.
fn digit_groups(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | ' ' | '_')))
        .map(|word| word.trim_matches([' ', '-']))
        .filter(|word| {
            (11..=40).contains(&word.len())
                && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'-' | b' '))
                && !word.contains("--")
                && !word.contains("  ")
        })
}

/// Whether a group is `123-45-6789`, excluding numbers that are never assigned.
fn is_ssn(group: &str) -> bool {
    let parts: Vec<&str> = group.split('-').collect();
    match parts[..] {
        [area, group, serial] => {
            (area.len(), group.len(), serial.len()) == (3, 2, 4)
                && area != "000"
                && area != "666"
                && !area.starts_with('9')
                && group != "00"
                && serial != "0000"
        }
        _ => false,
    }
}

/// Whether a group has the length and prefix of a card scheme and a valid check digit.
fn is_card(group: &str) -> bool {
    let digits: Vec<u8> = group
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|byte| byte - b'0')
        .collect();
    let prefix = |length: usize| {
        digits
            .iter()
            .take(length)
            .fold(0u32, |number, &digit| number * 10 + u32::from(digit))
    };
    let known = match digits.len() {
        13 | 19 => prefix(1) == 4 || prefix(2) == 62,
        14 => matches!(prefix(3), 300..=305 | 360..=369 | 380..=399),
        15 => matches!(prefix(2), 34 | 37),
        16 => {
            matches!(prefix(1), 4)
                || matches!(prefix(2), 51..=55 | 62 | 65 | 35)
                || matches!(prefix(4), 2221..=2720 | 6011 | 6440..=6499)
        }
        _ => false,
    };
    known && passes_luhn(&digits)
}

fn passes_luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .zip([false, true].into_iter().cycle())
        .map(|(&digit, double)| {
            let value = u32::from(digit) * if double { 2 } else { 1 };
            value / 10 + value % 10
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn email_addresses_are_found() {
        for text in [
            "alice@example.com",
            "/u/alice.b+c@example.co.uk/x",
            "to=a@b.io,c",
            "a@b@c.com d@e.org",
        ] {
            assert!(has_personal_data(text), "{text}");
        }
    }

    #[test]
    fn other_uses_of_the_at_sign_are_no_email_addresses() {
        for text in [
            "/@user",
            "/npm/react@18.2.0/index.js",
            "icon@2x.png",
            "@user@mastodon.social",
            "a@localhost",
            "a@",
            "@",
            "user@x..com",
            "@@@@",
        ] {
            assert!(!has_personal_data(text), "{text}");
        }
    }

    #[test]
    fn card_numbers_need_a_known_prefix_and_a_right_check_digit() {
        for text in [
            "4111111111111111",
            "4111-1111-1111-1111",
            "5555 5555 5555 4444",
            "378282246310005",
        ] {
            assert!(has_personal_data(text), "{text}");
        }
        for text in [
            "4111111111111112",
            "1111111111111117",
            "1143508721236934696",
            "x4111111111111111",
            "4111111111111111a",
            "2024010112000000",
        ] {
            assert!(!has_personal_data(text), "{text}");
        }
    }

    #[test]
    fn social_security_numbers_need_their_hyphens() {
        assert!(has_personal_data("id=123-45-6789"));
        for text in [
            "123456789",
            "000-12-3456",
            "666-12-3456",
            "912-12-3456",
            "123-00-4567",
            "2024-01-01",
            "1123-45-6789",
        ] {
            assert!(!has_personal_data(text), "{text}");
        }
    }

    #[test]
    fn telling_names_need_a_fitting_value() {
        assert!(is_personal("phone", "+1 555 123 4567"));
        assert!(is_personal("date_of_birth", "1990-01-31"));
        assert!(is_personal("first-name", "Alice"));
        assert!(!is_personal("phone", "yes"));
        assert!(!is_personal("first-name", ""));
        assert!(!is_personal("name", "Alice"));
        assert!(!is_personal("email", "1"));
    }
}
