//! Attributes that do not exist, stand twice, or have the wrong kind of value.
use entreat_core::Form;

#[derive(Form)]
#[form(titel = "Sign up", id = "no spaces")]
struct SignUp {
    #[form(minlength = 3)]
    name: String,
    #[form(label = "A", label = "B")]
    city: String,
    #[form(max_length = "ten", sensitive = true)]
    street: String,
    #[form(format = "mail", messages(min_lenght = "…"))]
    mail: String,
    #[form(colour)]
    taste: String,
}

fn main() {}
