//! Translates ECMA-262 patterns (Unicode mode) into the syntax of `regex-syntax`.
//!
//! Lenient where browsers are (`{` and `]` as literals, escaped punctuation), strict where
//! leniency would hide a mistake (unknown escapes, a repetition of a repetition).

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use super::PatternError;

const SPACE: &str =
    r"\t-\r\x20\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";

/// A pattern in the syntax of `regex-syntax`.
pub(super) struct Translation {
    pub(super) text: String,
    /// The number of code points subject to case folding.
    pub(super) folded: usize,
}

/// Translates a pattern. Groups become non-capturing, since captures are never read.
pub(super) fn translate(source: &str) -> Result<Translation, PatternError> {
    let mut translator = Translator {
        rest: source.chars().peekable(),
        out: String::with_capacity(source.len() * 2),
        folds: false,
        points: 0,
    };
    translator.run()?;
    Ok(Translation {
        text: translator.out,
        folded: if translator.folds {
            translator.points
        } else {
            0
        },
    })
}

/// About the number of code points in the largest Unicode property.
const PROPERTY_POINTS: usize = 140_000;
const ALL_POINTS: usize = 0x11_0000;

struct Translator<'s> {
    rest: Peekable<Chars<'s>>,
    out: String,
    /// Whether any part ignores case.
    folds: bool,
    /// The number of code points in all sets and ranges.
    points: usize,
}

/// One member of a character class, or one escape.
enum Atom {
    Char(char),
    /// The content of a class, and whether it is negated.
    Set(String, bool),
    /// An assertion, translated.
    Assertion(&'static str),
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), PatternError> {
        let mut after_quantifier = false;
        while let Some(c) = self.rest.next() {
            let is_quantifier = match c {
                '*' | '+' | '?' => {
                    self.out.push(c);
                    true
                }
                '{' => self.counted_repetition(),
                _ => false,
            };
            if is_quantifier {
                if after_quantifier {
                    return Err(syntax("nothing to repeat"));
                }
                if self.rest.next_if_eq(&'?').is_some() {
                    self.out.push('?');
                }
                after_quantifier = true;
                continue;
            }
            after_quantifier = false;
            match c {
                '\\' => match self.escape(false)? {
                    Atom::Char(c) => self.push_char(c),
                    Atom::Set(inside, negated) => self.push_set(&inside, negated),
                    Atom::Assertion(text) => self.out.push_str(text),
                },
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => self.push_set(r"\n\r\u{2028}\u{2029}", true),
                ')' | '|' | '^' | '$' => self.out.push(c),
                // A `{` that does not start a repetition is a literal.
                c => self.push_char(c),
            }
        }
        Ok(())
    }

    /// Translates `{2}`, `{2,}` or `{2,3}` after its opening brace. Returns false for anything
    /// else, which is a literal.
    fn counted_repetition(&mut self) -> bool {
        let mut ahead = self.rest.clone();
        let mut text = String::from("{");
        let mut commas = 0;
        loop {
            match ahead.next() {
                Some(c @ '0'..='9') => text.push(c),
                Some(',') if commas == 0 && text.len() > 1 => {
                    commas = 1;
                    text.push(',');
                }
                Some('}') if text.len() > 1 => break,
                _ => return false,
            }
        }
        text.push('}');
        self.out.push_str(&text);
        self.rest = ahead;
        true
    }

    fn group(&mut self) -> Result<(), PatternError> {
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.push_str("(?:");
            return Ok(());
        }
        match self.rest.next() {
            Some(':') => self.out.push_str("(?:"),
            Some('=' | '!') => return Err(PatternError::LookAround),
            Some('<') => {
                if matches!(self.rest.peek(), Some('=' | '!')) {
                    return Err(PatternError::LookAround);
                }
                let mut length = 0;
                loop {
                    match self.rest.next() {
                        Some('>') if length > 0 => break,
                        Some(c) if c.is_alphanumeric() || c == '_' || c == '$' => length += 1,
                        _ => return Err(syntax("a group's name is invalid")),
                    }
                }
                self.out.push_str("(?:");
            }
            Some(first @ ('i' | 'm' | 's' | '-')) => {
                self.out.push_str("(?");
                self.out.push(first);
                self.folds |= first == 'i';
                loop {
                    match self.rest.next() {
                        Some(flag @ ('i' | 'm' | 's' | '-')) => {
                            self.folds |= flag == 'i';
                            self.out.push(flag);
                        }
                        Some(':') => break,
                        _ => return Err(syntax("a group's flags are invalid")),
                    }
                }
                self.out.push(':');
            }
            _ => return Err(syntax("a group starts with an unknown `(?` prefix")),
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), PatternError> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut inside = String::new();
        loop {
            let Some(c) = self.rest.next() else {
                return Err(syntax("a character class is not closed"));
            };
            if c == ']' {
                break;
            }
            let start = self.class_atom(c)?;
            let is_range = self.rest.peek() == Some(&'-')
                && self.rest.clone().nth(1).is_some_and(|next| next != ']');
            if !is_range {
                write_atom(&mut inside, &start);
                continue;
            }
            self.rest.next();
            let Some(c) = self.rest.next() else {
                return Err(syntax("a character class is not closed"));
            };
            let end = self.class_atom(c)?;
            match (&start, &end) {
                (Atom::Char(low), Atom::Char(high)) if low > high => {
                    return Err(syntax("a character range is out of order"));
                }
                (Atom::Char(low), Atom::Char(high)) => {
                    self.points += (u32::from(*high) - u32::from(*low)) as usize;
                    write_atom(&mut inside, &start);
                    inside.push('-');
                    write_atom(&mut inside, &end);
                }
                // A set cannot start or end a range: the hyphen is a literal.
                _ => {
                    write_atom(&mut inside, &start);
                    inside.push_str(r"\-");
                    write_atom(&mut inside, &end);
                }
            }
        }
        match (inside.is_empty(), negated) {
            (true, true) => self.out.push_str("(?s:.)"),
            (true, false) => self.out.push_str("[a&&b]"),
            (false, negated) => self.push_set(&inside, negated),
        }
        Ok(())
    }

    fn class_atom(&mut self, c: char) -> Result<Atom, PatternError> {
        let atom = match c {
            '\\' => self.escape(true)?,
            c => Atom::Char(c),
        };
        if matches!(atom, Atom::Set(_, true)) {
            self.points += ALL_POINTS;
        }
        Ok(atom)
    }

    /// Translates what follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<Atom, PatternError> {
        let Some(c) = self.rest.next() else {
            return Err(syntax("it ends with a backslash"));
        };
        Ok(match c {
            'd' => Atom::Set(DIGIT.into(), false),
            'D' => Atom::Set(DIGIT.into(), true),
            'w' => Atom::Set(WORD.into(), false),
            'W' => Atom::Set(WORD.into(), true),
            's' => Atom::Set(SPACE.into(), false),
            'S' => Atom::Set(SPACE.into(), true),
            'p' | 'P' => {
                self.points += PROPERTY_POINTS;
                Atom::Set(self.property()?, c == 'P')
            }
            'b' if in_class => Atom::Char('\u{8}'),
            'b' => Atom::Assertion(r"(?-u:\b)"),
            // An ASCII-only `\B` could match inside a code point, which the engine rejects.
            'B' if !in_class => Atom::Assertion(r"\B"),
            't' => Atom::Char('\t'),
            'n' => Atom::Char('\n'),
            'r' => Atom::Char('\r'),
            'f' => Atom::Char('\u{c}'),
            'v' => Atom::Char('\u{b}'),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => Atom::Char('\0'),
            '1'..='9' | 'k' => return Err(PatternError::Backreference),
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    Atom::Char(char::from(letter as u8 % 32))
                }
                _ => return Err(syntax(r"`\c` needs a letter")),
            },
            'x' => Atom::Char(character(self.hex(2)?)?),
            'u' => Atom::Char(self.unicode_escape()?),
            c if !c.is_ascii_alphanumeric() => Atom::Char(c),
            c => return Err(PatternError::Syntax(format!(r"`\{c}` is not an escape"))),
        })
    }

    fn property(&mut self) -> Result<String, PatternError> {
        let mut name = String::new();
        if self.rest.next() != Some('{') {
            return Err(syntax(r"`\p` needs a property in braces"));
        }
        for c in self.rest.by_ref() {
            match c {
                '}' => return Ok(format!(r"\p{{{name}}}")),
                c if c.is_ascii_alphanumeric() || c == '_' || c == '=' => name.push(c),
                _ => break,
            }
        }
        Err(syntax(r"`\p` needs a property in braces"))
    }

    fn unicode_escape(&mut self) -> Result<char, PatternError> {
        if self.rest.next_if_eq(&'{').is_some() {
            let mut code: u32 = 0;
            let mut digits = 0;
            loop {
                match self.rest.next() {
                    Some('}') if digits > 0 => return character(code),
                    Some(c) if c.is_ascii_hexdigit() && code <= 0x0010_FFFF => {
                        digits += 1;
                        code = code * 16 + c.to_digit(16).unwrap_or(0);
                    }
                    _ => return Err(syntax(r"`\u{…}` needs a code point")),
                }
            }
        }
        let first = self.hex(4)?;
        if !(0xD800..0xDC00).contains(&first) {
            return character(first);
        }
        if self.rest.next() != Some('\\') || self.rest.next() != Some('u') {
            return Err(syntax("half of a surrogate pair is missing"));
        }
        let second = self.hex(4)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(syntax("half of a surrogate pair is missing"));
        }
        character(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    fn hex(&mut self, digits: u32) -> Result<u32, PatternError> {
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.rest.next().and_then(|c| c.to_digit(16));
            code = code * 16 + digit.ok_or_else(|| syntax("an escape lacks hex digits"))?;
        }
        Ok(code)
    }

    fn push_char(&mut self, c: char) {
        push_literal(&mut self.out, c);
    }

    fn push_set(&mut self, inside: &str, negated: bool) {
        self.out.push_str(if negated { "[^" } else { "[" });
        self.out.push_str(inside);
        self.out.push(']');
    }
}

fn write_atom(class: &mut String, atom: &Atom) {
    match atom {
        Atom::Char(c) => push_literal(class, *c),
        Atom::Set(inside, false) => class.push_str(inside),
        Atom::Set(inside, true) => {
            class.push_str("[^");
            class.push_str(inside);
            class.push(']');
        }
        // In a class, `\b` is a character and `\B` is rejected.
        Atom::Assertion(_) => {}
    }
}

fn push_literal(out: &mut String, c: char) {
    if c.is_alphanumeric() {
        out.push(c);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, r"\u{{{:x}}}", u32::from(c));
    }
}

fn character(code: u32) -> Result<char, PatternError> {
    char::from_u32(code).ok_or_else(|| syntax("an escape names no character"))
}

fn syntax(what: &str) -> PatternError {
    PatternError::Syntax(what.to_owned())
}
