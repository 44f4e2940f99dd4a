// The findings of a recording, worst first.
document.title = "Findings: " + data.file;
document.getElementById("file").textContent = data.file;
foot();

const alarms = data.findings.filter(finding => finding.level !== "ok");
const healthy = data.findings.filter(finding => finding.level === "ok");
const severity = {warning: "warning", serious: "serious"};

section("findings", "Findings",
  data.notes.map(note => make("p", {class: "note"}, note)),
  data.change_sentence ? make("p", null, data.change_sentence) : null,
  alarms.length ? null : make("p", null, "Nothing is noteworthy."),
  alarms.map(finding => make("article", {class: "finding " + severity[finding.level]},
    make("b", null, finding.level + ": " + finding.headline), make("p", null, finding.cause), make("p", null, finding.next))));

section("ok", "OK", healthy.length ? make("ul", null, healthy.map(finding => make("li", null, finding.headline))) : make("p", null, "Nothing."));

if (data.not_judged.length) {
  section("not-judged", "Not judged", make("p", null, "The recording lacks the events for these."),
    table("not-judged-table", [{title: "Rule"}, {title: "Needs one of"}], data.not_judged.map(rule => [rule.rule, rule.needs.join(", ")]), null));
}
