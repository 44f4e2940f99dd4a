// One thread dump or several: who waits for whom, and where.
document.title = "Threads: " + data.title;
document.getElementById("file").textContent = data.title;
foot();

const report = data.report, last = report.dumps[report.dumps.length - 1];
const states = found => Object.entries(found).sort((a, b) => b[1] - a[1]).map(([state, n]) => count(n) + " " + state).join(", ");
const frames = list => list.length ? make("ul", {class: "stack mono"}, list.map(frame => make("li", null, frame))) : make("p", null, "No Java frames.");
const chips = (names, all) => make("p", null, names.map(name => make("span", {class: "chip mono"}, name || "(no name)")), all > names.length ? count(all - names.length) + " more" : null);
const short = id => id === null ? "" : String(id);

const showDeadlocks = () => section("deadlocks", "Deadlocks", report.deadlocks.length ? null : make("p", null, "None."),
  report.deadlocks.map(deadlock => make("article", {class: "finding serious"},
    make("b", null, count(deadlock.steps.length) + " threads wait for each other" + (deadlock.is_reported ? "" : " (inferred from their locks)")),
    make("ul", null, deadlock.steps.map(step => make("li", null, "\u201c" + step.thread + "\u201d waits for " + (step.lock_id.startsWith(step.lock) ? step.lock_id || "a lock" : step.lock + " " + step.lock_id) + ", which \u201c" + step.owner + "\u201d holds", step.frames.length ? frames(step.frames) : null))))));

// What keeps a program from going on comes first.
if (report.deadlocks.length) showDeadlocks();

section("summary", "Summary",
  make("p", null, [last.jvm, last.time].filter(it => it).join(", ") + "."),
  data.notes.map(note => make("p", {class: "note"}, note)),
  last.without_locks ? make("p", {class: "note"}, "The locks of " + count(last.without_locks) + " virtual threads are unknown, as JDKs before 24 write none: a deadlock of theirs is not seen.") : null,
  cards([
    [count(last.threads), "threads"], last.virtual_threads ? [count(last.virtual_threads), "virtual threads among them"] : null,
    ...Object.entries(last.states).sort((a, b) => b[1] - a[1]).map(([state, n]) => [count(n), state]),
    [count(report.deadlocks.length), "deadlocks"], [count(report.stacks.length), "different stacks"], [count(report.dumps.length), report.dumps.length === 1 ? "dump" : "dumps"],
  ]));

if (!report.deadlocks.length) showDeadlocks();

if (report.dumps.length > 1) {
  section("dumps", "Dumps", make("p", null, "The tables below are of the last."),
    table("dump-table", [{title: "Dump", number: true}, {title: "Time"}, {title: "Threads", number: true}, {title: "States"}],
      report.dumps.map((dump, index) => [index + 1, dump.time ?? none, dump.threads, states(dump.states)]), null));
}

if (report.moved) {
  const moved = report.moved;
  section("moved", "What moved", make("p", null, (moved.elapsed_ms === null ? "Between the first dump and the last: " : "In " + clock(moved.elapsed_ms) + ": ") + count(moved.started) + " threads began, " + count(moved.ended) + " ended, " + count(moved.idle) + " waited in one place."),
    make("h3", null, "CPU time between the dumps"),
    moved.busy.length ? table("busy-table", [{title: "CPU", number: true, show: millis}, {title: "Share", number: true, show: percent}, {title: "Thread"}, {title: "Frame"}], moved.busy.map(it => [it.cpu_ms, it.share, it.name, it.frame]), 0) : make("p", null, "No thread used any, or the dumps do not have it."),
    make("h3", null, "In the same place in every dump"),
    moved.stuck.length ? table("stuck-table", [{title: "Thread"}, {title: "State"}, {title: "CPU", number: true, show: millis}, {title: "Waits for"}, {title: "Frame"}], moved.stuck.map(it => [it.name, it.state, it.cpu_ms, it.owner || "", it.frame]), null) : make("p", null, "None, apart from those that wait for work."));
}

section("locks", "Locks", report.locks.length ? table("lock-table", [{title: "Waiting", number: true}, {title: "Lock"}, {title: "Held by"}, {title: "Where"}, {title: "Who waits"}],
  report.locks.map(lock => [lock.waiting, lock.class + " " + lock.id, lock.owner ?? "no thread, or a thread that is not in the dump", lock.owner_frame ?? "", lock.names.join(", ")]), null) : make("p", null, "No thread waits for a lock that another holds."));

section("pools", "Pools", table("pool-table", [{title: "Threads", number: true}, {title: "Pool"}, {title: "States"}, {title: "CPU", number: true, show: millis}, {title: "Most are in"}],
  report.pools.map(pool => [pool.threads, pool.name, states(pool.states), pool.cpu_ms, pool.frame]), 0));

const GROUPS = 100;
section("stacks", "Stacks", make("p", null, "Threads with equal stacks are one group."),
  report.stacks.filter(group => group.frames.length).slice(0, GROUPS).map((group, index) => make("details", index < 3 ? {open: ""} : null,
    make("summary", null, count(group.threads) + " \u00d7 " + group.frames[0] + " (" + states(group.states) + ")" + (group.cpu_ms === null ? "" : ", CPU " + millis(group.cpu_ms))),
    chips(group.names, group.threads), frames(group.frames))),
  report.stacks.length > GROUPS ? make("p", null, count(report.stacks.length - GROUPS) + " more; `hprof-rs stacks --json` has them.") : null);

section("threads", "Threads", table("thread-table", [{title: "Thread"}, {title: "Number"}, {title: "State"}, {title: "CPU", number: true, show: millis}, {title: "Waits for"}, {title: "Held by"}, {title: "Frame"}],
  report.threads.map(thread => [thread.name, short(thread.id), thread.state, thread.cpu_ms, thread.waits_for ? thread.waits_for.class : "", thread.owner ?? "", thread.stack === null ? "" : report.stacks[thread.stack].frames[0] ?? ""]), 3));
