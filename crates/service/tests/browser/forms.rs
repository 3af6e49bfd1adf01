//! The forms of the page tests.

use serde_json::{Value, json};

use crate::site::form;

const COLORS: [&str; 3] = ["Red", "Green", "Blue"];

/// A form with every type in every style.
pub(crate) fn everything() -> Value {
    let cities = [
        "Amsterdam",
        "Berlin",
        "Bern",
        "Lisbon",
        "Paris",
        "Rome",
        "Vienna",
        "Warsaw",
    ];
    let titled = json!([
        {"value": "eu", "title": "Europe"}, {"value": "us", "title": "United States"},
        {"value": "ap", "title": "Asia and Pacific"},
    ]);
    let mut form = form(json!([
        {"id": "name", "type": "text", "label": "Name of the release", "required": true,
         "description": "As it appears in the list of changes.",
         "validation": {"minLength": 3},
         "rendering": {"placeholder": "blue-green", "helpText": "Lowercase, with hyphens."}},
        {"id": "key", "type": "text", "label": "API key", "required": true,
         "rendering": {"displayStyle": "password"}},
        {"id": "mail", "type": "text", "label": "E-mail", "validation": {"format": "email"},
         "rendering": {"displayStyle": "email", "autocomplete": "email"}},
        {"id": "tel", "type": "text", "label": "Phone", "rendering": {"displayStyle": "tel"}},
        {"id": "notes", "type": "text", "label": "Notes", "rendering": {"rows": 3}},
        {"id": "replicas", "type": "number", "label": "Replicas", "required": true,
         "validation": {"minimum": 1, "maximum": 9}},
        {"id": "step", "type": "number", "label": "Batch size", "rendering": {"step": 5}},
        {"id": "share", "type": "number", "label": "Share of the traffic", "default": 30,
         "validation": {"minimum": 0, "maximum": 100}, "rendering": {"displayStyle": "slider"}},
        {"id": "sure", "type": "boolean", "label": "The change was reviewed",
         "description": "By somebody else than its author."},
        {"id": "watch", "type": "boolean", "label": "Watch it afterwards", "default": true,
         "rendering": {"displayStyle": "toggle"}},
        {"id": "night", "type": "boolean", "label": "At night", "required": true,
         "rendering": {"displayStyle": "radio"}},
        {"id": "region", "type": "select", "label": "Region", "options": titled, "required": true,
         "rendering": {"displayStyle": "dropdown"}},
        {"id": "color", "type": "select", "label": "Colour", "options": COLORS,
         "rendering": {"displayStyle": "radio"}},
        {"id": "size", "type": "select", "label": "Size", "options": ["S", "M", "L"],
         "required": true, "default": "M", "rendering": {"displayStyle": "segmented"}},
        {"id": "city", "type": "select", "label": "City", "options": cities,
         "rendering": {"searchable": true}},
        {"id": "days", "type": "multi_select", "label": "Days", "options": ["Monday", "Tuesday"],
         "required": true, "rendering": {"displayStyle": "checkbox"}},
        {"id": "teams", "type": "multi_select", "label": "Teams", "options": COLORS,
         "rendering": {"displayStyle": "multiselect_dropdown"}},
        {"id": "tags", "type": "multi_select", "label": "Tags", "options": COLORS,
         "default": ["Green"], "rendering": {"displayStyle": "chips"}},
        {"id": "link", "type": "url", "label": "Ticket", "rendering": {"testButton": true}},
        {"id": "day", "type": "date", "label": "Day", "required": true,
         "rendering": {"displayFormat": "DD.MM.YYYY"}},
        {"id": "moment", "type": "date", "label": "Moment", "required": true,
         "validation": {"format": "date-time"}},
        {"id": "file", "type": "file", "label": "Log", "required": true,
         "validation": {"maxSize": 5 << 20, "allowedExtensions": [".txt", ".png"]}},
        {"id": "commit", "type": "text", "label": "Commit", "default": "4b9ede3",
         "rendering": {"readonly": true}},
    ]));
    form["description"] = json!("Version 1.4 is ready. Please decide how it goes out.");
    form
}

pub(crate) fn small() -> Value {
    form(json!([
        {"id": "name", "type": "text", "label": "Name of the release", "required": true},
        {"id": "key", "type": "text", "label": "API key", "sensitive": true},
        {"id": "colors", "type": "multi_select", "label": "Colours", "options": COLORS},
        {"id": "sure", "type": "boolean", "label": "The change was reviewed"},
        {"id": "notes", "type": "text", "label": "Notes", "rendering": {"rows": 3}},
    ]))
}

pub(crate) fn conditional() -> Value {
    let condition = json!({"operator": "equals", "field": "sure", "value": true});
    let mut form = form(json!([
        {"id": "sure", "type": "boolean", "label": "Roll out in steps",
         "rendering": {"displayStyle": "toggle"}},
        {"id": "steps", "type": "number", "label": "Number of steps",
         "rendering": {"conditionalDisplay": condition}},
        {"id": "all", "type": "text", "label": "Reason for all at once"},
    ]));
    let dependency = json!({"condition": condition, "action": "disable"});
    form["validation"] = json!({"dependencies": {"all": dependency}});
    form
}
