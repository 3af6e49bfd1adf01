//! Conditions that the form language does not have.
use entreat_core::Form;

#[derive(Form)]
struct Target {
    kind: String,
    count: u8,
    #[form(show_if(kind))]
    a: Option<String>,
    #[form(show_if(kind < "x"))]
    b: Option<String>,
    #[form(show_if(count == "three"))]
    c: Option<String>,
    #[form(show_if(kind.starts_with("x")))]
    d: Option<String>,
    #[form(show_if("x" == kind))]
    e: Option<String>,
    #[form(show_if(count + 1))]
    f: Option<String>,
    #[form(show_if = "kind")]
    g: Option<String>,
    #[form(show_if(count.is_in(3)))]
    h: Option<String>,
    #[form(show_if(i == "x"))]
    i: Option<String>,
}

fn main() {}
