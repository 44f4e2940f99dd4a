// What is under way: uploads of this page and jobs of the server, with progress.
import { useState } from "preact/hooks";
import { failureOf, send, type Failure } from "../api/client";
import { dumps } from "../api/events";
import type { Dump, Job } from "../api/types";
import { bytes, count, duration, percent } from "../format";
import { A, Name, Problem } from "../parts/basics";
import { phaseName, texts } from "../texts";
import { remove, resume, uploads, type Entry } from "./uploads";

/** Too large, and of no kind that the server knows. */
const REFUSED = [413, 415];

export function Running() {
  const t = texts.value.start;
  const jobs = dumps.value.filter((dump) => dump.job && (dump.job.state === "running" || dump.job.state === "queued"));
  if (!jobs.length && !uploads.value.length) return null;
  // What has failed does not run.
  const onlyFailed = !jobs.length && uploads.value.every((entry) => entry.upload.state === "failed");
  return (
    <section aria-labelledby="running-title">
      <h2 id="running-title">{onlyFailed ? t.notSent : t.running}</h2>
      <ul class="running">
        {uploads.value.map((entry) => (
          <UploadLine key={entry.key} entry={entry} />
        ))}
        {jobs.map((dump) => (
          <li key={dump.id} class="running-item">
            <JobLine dump={dump} job={dump.job!} linked />
          </li>
        ))}
      </ul>
    </section>
  );
}

function UploadLine({ entry }: { entry: Entry }) {
  const t = texts.value.start;
  const { file, sent, rate, state, failure, isStraight } = entry.upload;
  // A file that the server does not take stays refused.
  const isRefused = state === "failed" && failure !== null && REFUSED.includes(failure.problem.status);
  const words = { sending: t.sending, waiting: t.waiting, paused: t.paused, done: t.sent, failed: t.failed }[state];
  return (
    <li class="running-item">
      <div class="running-head">
        <strong>
          <Name text={file.name} mono={false} />
        </strong>
        <span class="dim">{words}</span>
        <span class="spring" />
        {state === "sending" || state === "waiting" ? (
          <button type="button" class="small" onClick={() => entry.sender.pause()}>
            {t.pause}
          </button>
        ) : (
          !isRefused && (
            <button type="button" class="small" onClick={() => resume(entry)}>
              {state === "failed" ? t.retry : t.resume}
            </button>
          )
        )}
        <button type="button" class="small" onClick={() => remove(entry)}>
          {t.remove}
        </button>
      </div>
      <Progress done={sent} total={file.size} label={file.name} />
      <p class="running-facts">
        <span>{t.of(bytes(sent), bytes(file.size))}</span>
        {rate > 0 && <span>{t.rate(bytes(rate))}</span>}
        {rate > 0 && <span>{t.left(duration((file.size - sent) / rate))}</span>}
        {isStraight && <span>{t.straight}</span>}
      </p>
      {failure && <Problem failure={failure} />}
    </li>
  );
}

export function Progress({ done, total, label }: { done: number; total: number | null; label: string }) {
  const known = total !== null && total > 0;
  const share = known ? Math.min(100, (100 * done) / total) : 0;
  return (
    <div class={known ? "progress" : "progress unknown"} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={known ? Math.round(share) : undefined}>
      <i style={{ width: known ? `${share}%` : "100%" }} />
    </div>
  );
}

const PHASES = ["reading", "graph", "dominators", "index", "report"];

/** A job with its phase, progress, rate and time left, and the button that cancels it. */
export function JobLine({ dump, job, linked = false }: { dump: Dump; job: Job; linked?: boolean }) {
  const t = texts.value;
  const s = t.start;
  const [failure, setFailure] = useState<Failure | null>(null);
  const cancel = () => send("POST", `jobs/${encodeURIComponent(job.id)}/cancel`).then(() => setFailure(null), (error: unknown) => setFailure(failureOf(error)));
  const amount = (n: number) => (job.unit === "bytes" ? bytes(n) : count(n));
  const at = PHASES.indexOf(job.phase ?? "");
  const tooLarge = job.state === "queued" && typeof job.room === "number";
  return (
    <>
      <div class="running-head">
        {linked && (
          <strong>
            <A href={`/dumps/${dump.id}`}>
              <Name text={dump.name} mono={false} />
            </A>
          </strong>
        )}
        <span class={tooLarge ? "bad" : "dim"}>{tooLarge ? s.noRoom(bytes(dump.bytes), bytes(job.room!)) : job.state === "queued" ? s.queued : phaseName(job.phase)}</span>
        {job.attempt > 1 && <span class="dim">{s.attempt(count(job.attempt))}</span>}
        <span class="spring" />
        <button type="button" class="small" onClick={() => void cancel()}>
          {t.cancel}
        </button>
      </div>
      <Progress done={job.done} total={job.state === "queued" ? null : job.total} label={dump.name} />
      <p class="running-facts">
        {job.state === "running" && at >= 0 && (
          <span class="steps" aria-hidden="true">
            {PHASES.map((phase, index) => (
              <i key={phase} class={index < at ? "past" : index === at ? "now" : ""} title={t.phases[phase]} />
            ))}
          </span>
        )}
        {job.state === "running" && job.total !== null && job.total > 0 && <span>{percent((100 * job.done) / job.total)}</span>}
        {job.state === "running" && job.done > 0 && <span>{job.total ? s.of(amount(job.done), amount(job.total)) : amount(job.done)}</span>}
        {job.rate !== null && job.rate > 0 && <span>{s.rate(amount(job.rate))}</span>}
        {job.seconds_left !== null && <span>{s.left(duration(job.seconds_left))}</span>}
      </p>
      {failure && <Problem failure={failure} />}
    </>
  );
}
