// A log, or two that are compared.
document.title = "Garbage collection: " + data.logs.map(log => log.file).join(", ");
document.getElementById("file").textContent = data.logs.map(log => log.file).join(" \u2192 ");
foot();

const spreads = (name, rows) => table(name, [{title: "Name"}, {title: "Count", number: true}, {title: "Sum", number: true, show: millis}, {title: "Max", number: true, show: millis}, {title: "p50", number: true, show: millis}, {title: "p95", number: true, show: millis}, {title: "p99", number: true, show: millis}, {title: "p99.9", number: true, show: millis}],
  rows.map(row => [row.name, row.count, row.sum_ms, row.max_ms, row.p50_ms, row.p95_ms, row.p99_ms, row.p999_ms]), 2);
// ZGC logs no times of its cycles before JDK 21; a cycle that took no time does not exist.
const cycles = rows => rows.map(row => row.max_ms === 0 ? {...row, sum_ms: null, max_ms: null, p50_ms: null, p95_ms: null, p99_ms: null, p999_ms: null} : row);
const rate = found => found && found.per_second !== null ? (found.is_exact ? "" : "about ") + bytes(found.per_second) + "/s" : none;

if (data.measures) {
  const units = {count, milliseconds: millis, bytes, bytes_per_second: n => n === null ? none : bytes(n) + "/s", percent: n => n === null ? none : n.toFixed(2) + "%", per_minute: n => n === null ? none : n.toFixed(1)};
  const good = measure => measure.name === "throughput" ? -1 : ["duration", "concurrent cycles", "heap size, at most"].includes(measure.name) ? 0 : 1;
  section("comparison", "Comparison", table("comparison-table", [{title: "Figure"}, {title: "Before", number: true, show: (n, row) => units[row[4].unit](n)}, {title: "After", number: true, show: (n, row) => units[row[4].unit](n)},
    {title: "Change", number: true, show: (n, row) => {
      if (n === null) return none;
      const worse = n * good(row[4]);
      return make("span", {class: Math.abs(n) < 0.05 || worse === 0 ? "" : worse > 0 ? "worse" : "better"}, (n > 0 ? "+" : "") + (100 * n).toFixed(1) + "%");
    }}], data.measures.map(measure => [measure.name, measure.before, measure.after, measure.before && measure.after !== null ? measure.after / measure.before - 1 : null, measure]), null));
}

data.logs.forEach((log, index) => {
  const part = name => data.logs.length > 1 ? name + (index + 1) : name;
  const titled = title => data.logs.length > 1 ? title + ": " + log.file : title;
  const facts = [log.collector, log.jvm, log.cpus ? log.cpus + " CPUs" : null, log.heap.max ? "heap up to " + bytes(log.heap.max) : null, log.heap.region ? "regions of " + bytes(log.heap.region) : null].filter(it => it);
  // Such a log has stops or cycles, but not their pauses.
  // There were pauses, though they do not show in two digits.
  const withoutPause = log => log.pauses.count > 0 && log.throughput >= 0.99995 ? "> 99.99%" : percent(log.throughput);
  const hasNoPauses = log.pauses.count === 0 && log.throughput === null;
  const ofPauses = (figure, show) => hasNoPauses ? none : show(figure);
  section(part("summary"), titled("Summary"),
    facts.length ? make("p", null, facts.join(", ") + ".") : null,
    log.notes.map(note => make("p", {class: "note"}, note)),
    cards([
      [ofPauses(log.pauses.count, count), "pauses"], [ofPauses(log.pauses.sum_ms, millis), "in total"], [ofPauses(log.pauses.max_ms, millis), "longest pause"],
      [ofPauses(log.pauses.p99_ms, millis), "99 in 100 pauses at most"], [withoutPause(log), "of the time without a pause"],
      [log.duration_ms === null ? none : clock(log.duration_ms), log.recording ? "covered by the recording" : "covered by the log"], [count(log.counts.full), "full collections"],
      [rate(log.allocation), "allocation"], [rate(log.promotion), "promotion"], [bytes(log.heap.peak_after), "most after a collection"],
    ]));
  section(part("findings"), titled("Findings"), log.findings.length ? null : make("p", null, "Nothing is noteworthy."),
    log.findings.map(finding => make("article", {class: "finding " + finding.severity}, make("b", null, finding.fact + "."), make("p", null, finding.advice))));
  if (log.timeline) {
    section(part("timeline"), titled("Timeline"), pauseChart(log.timeline), heapChart(log.timeline));
  }
  section(part("pauses"), titled("Pauses"), make("h3", null, "By kind"), spreads(part("kinds"), log.kinds),
    log.causes.length ? [make("h3", null, "By cause"), spreads(part("causes"), log.causes)] : null,
    make("h3", null, "The longest"),
    table(part("worst"), [{title: "Pause", number: true, show: millis}, {title: "At", number: true, show: at => at === null ? none : clock(at)}, {title: "Kind"}, {title: "Cause"}, {title: "Heap before", number: true, show: bytes}, {title: "Heap after", number: true, show: bytes}],
      log.worst.map(it => [it.pause_ms, it.at_ms, it.kind, it.cause, it.heap && it.heap.before, it.heap && it.heap.after]), 0));
  if (log.cycles.length || log.stalls.count || log.stops.count) {
    section(part("more"), titled("Cycles and stops"),
      log.cycles.length ? [make("h3", null, "Concurrent cycles"), spreads(part("cycles"), cycles(log.cycles))] : null,
      log.cycle_causes.length ? [make("h3", null, "Causes of cycles"), spreads(part("cycle-causes"), cycles(log.cycle_causes))] : null,
      log.stalls.count ? [make("h3", null, "Allocation stalls"), spreads(part("stalls"), [{name: "stalls", ...log.stalls}])] : null,
      log.stops.count ? [make("h3", null, "All stops, for other reasons too"), spreads(part("stops"), [{name: "all stops", ...log.stops}, ...(log.reaching.count ? [{name: "until all threads had stopped", ...log.reaching}] : []), ...log.operations]),
        log.stopped === null ? null : make("p", null, percent(log.stopped) + " of the time."),
        make("h3", null, "The longest stops"),
        table(part("worst-stops"), [{title: "Stop", number: true, show: millis}, {title: "To safepoint", number: true, show: millis}, {title: "At", number: true, show: at => at === null ? none : clock(at)}, {title: "Operation"}],
          log.worst_stops.map(it => [it.stop_ms, it.reaching_ms, it.at_ms, it.operation]), 0)] : null);
  }
});
drawCharts();
