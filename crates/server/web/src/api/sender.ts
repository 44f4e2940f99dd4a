// An upload with its state, which waits and tries again when something passes.
import { PASSING } from "./ask";
import { Failure } from "./client";
import { dropDirect, sendDirect } from "./direct";
import { dropTus, hasTus, sendTus } from "./tus";

const MAX_WAIT = 30_000;

export interface Upload {
  file: File;
  sent: number;
  state: "sending" | "waiting" | "paused" | "done" | "failed";
  /** Bytes a second over the last seconds. */
  rate: number;
  dump: string | null;
  failure: Failure | null;
  /** True while the bytes go to the object storage, and not through the server. */
  isStraight: boolean;
}

export class Sender {
  private abort = new AbortController();
  private samples: [number, number][] = [];
  private state: Upload;
  private mayGoStraight = true;

  constructor(file: File, private readonly tell: (upload: Upload) => void) {
    this.state = { file, sent: 0, state: "sending", rate: 0, dump: null, failure: null, isStraight: false };
  }

  get upload(): Upload {
    return this.state;
  }

  private set(part: Partial<Upload>): void {
    this.state = { ...this.state, ...part };
    this.tell(this.state);
  }

  private moved(sent: number): void {
    const now = performance.now();
    this.samples = [...this.samples.filter(([at]) => now - at < 5000), [now, sent]];
    const [at, from] = this.samples[0]!;
    this.set({ sent, rate: now > at ? Math.max(0, (1000 * (sent - from)) / (now - at)) : this.state.rate });
  }

  pause(): void {
    this.abort.abort();
    this.set({ state: "paused", rate: 0 });
  }

  /** Stops, and tells the server to drop what it has. */
  async drop(): Promise<void> {
    this.abort.abort();
    await dropDirect(this.state.file);
    await dropTus(this.state.file);
  }

  async run(): Promise<void> {
    this.abort = new AbortController();
    this.samples = [];
    this.set({ state: "sending", failure: null });
    let wait = 1000;
    for (;;) {
      const before = this.state.sent;
      try {
        await this.send();
        return;
      } catch (error) {
        if (this.abort.signal.aborted) return;
        const status = error instanceof Failure ? error.problem.status : 0;
        if (error instanceof Failure && status < 500 && !PASSING.includes(status)) {
          this.set({ state: "failed", failure: error, rate: 0 });
          return;
        }
        if (this.state.sent > before) wait = 1000;
        this.set({ state: "waiting", rate: 0 });
        await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
        if (this.abort.signal.aborted) return;
        wait = Math.min(MAX_WAIT, wait * 2);
        this.set({ state: "sending" });
      }
    }
  }

  /** Straight to the storage where the server has one that takes it, otherwise through the server. */
  private async send(): Promise<void> {
    const { file } = this.state;
    const { signal } = this.abort;
    const moved = (sent: number) => this.moved(sent);
    if (this.mayGoStraight && !hasTus(file)) {
      this.set({ isStraight: true });
      const dump = await sendDirect(file, moved, signal);
      if (dump) return this.set({ state: "done", sent: file.size, rate: 0, dump });
      this.mayGoStraight = false;
      this.set({ isStraight: false, sent: 0 });
    }
    const dump = await sendTus(file, moved, signal);
    this.set({ state: "done", sent: file.size, rate: 0, dump });
  }
}
