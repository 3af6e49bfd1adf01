// How the HTML of the pages is judged: all that is recommended, but for matters of taste.
export default {
  root: true,
  extends: ["html-validate:recommended"],
  rules: {
    // Either case is valid.
    "doctype-style": "off",
    // A button in a form sends it, which is what these are for; those that do not say so.
    "no-implicit-button-type": "off",
    // Buttons that send the same form, and boxes of one list, share a name on purpose.
    "form-dup-name": "off",
  },
};
