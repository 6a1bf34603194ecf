/** Shows the progress of a long run: a bar for each phase on a terminal, one line for each outermost phase in a pipe. */
import { MultiBar, type SingleBar } from "cli-progress";

export type Phase = {
  /** Reports that `count` (default 1) more of the phase's total are done. */
  step(count?: number): void;
  end(): void;
};

export type Progress = {
  /** Begins a phase. Without a total it shows only its time. A phase that begins during another one is nested in it. */
  phase(name: string, total?: number): Phase;
  /** A line above the bars. Only a terminal shows it. */
  note?(text: string): void;
};

export type ProgressOutput = {
  readonly stream: NodeJS.WriteStream;
  readonly isTerminal: boolean;
};

const redrawsPerSecond = 8;
const redrawMs = 1_000 / redrawsPerSecond;
const barFormat = "  {bar} {percentage}%  {name}  {value}/{total}  {duration_formatted}";
const endlessFormat = "  … {name}  {duration_formatted}";

/** `close` ends the phases of an interrupted run, because their redrawing keeps the process alive. */
export function openProgress({ stream, isTerminal }: ProgressOutput): Progress & { close(): void } {
  if (isTerminal) return new TerminalProgress(stream);
  const lines = new LineProgress((line) => stream.write(line));
  return { phase: (name) => lines.phase(name), close: () => undefined };
}

/** Writes one line at the end of each outermost phase, which is enough for a log. */
export class LineProgress implements Progress {
  readonly #write: (line: string) => void;
  readonly #nowMs: () => number;
  #depth = 0;

  constructor(write: (line: string) => void, nowMs: () => number = () => performance.now()) {
    this.#write = write;
    this.#nowMs = nowMs;
  }

  phase(name: string): Phase {
    const startedMs = this.#nowMs();
    const isOutermost = this.#depth === 0;
    this.#depth += 1;
    let hasEnded = false;
    return {
      step: () => undefined,
      end: () => {
        if (hasEnded) return;
        hasEnded = true;
        this.#depth -= 1;
        if (isOutermost) this.#write(`${name}: ${((this.#nowMs() - startedMs) / 1_000).toFixed(1)} s\n`);
      },
    };
  }
}

class TerminalProgress implements Progress {
  readonly #stream: NodeJS.WriteStream;
  /** Set only during a phase, because redrawing keeps the process alive. */
  #bars: MultiBar | undefined;
  readonly #active = new Set<SingleBar>();
  readonly #ends = new Set<() => void>();

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  phase(name: string, total?: number): Phase {
    this.#bars ??= new MultiBar({
      stream: this.#stream,
      format: barFormat,
      fps: redrawsPerSecond,
      barsize: 24,
      barCompleteChar: "█",
      barIncompleteChar: "░",
      hideCursor: true,
      clearOnComplete: true,
      // The program handles signals itself, because an interrupted run still shows its results.
      gracefulExit: false,
    });
    const bars = this.#bars;
    const options = total === undefined ? { format: endlessFormat } : {};
    const bar = bars.create(total ?? 1, 0, { name }, options);
    this.#active.add(bar);
    // Redraws the elapsed time even without steps.
    const timer = setInterval(() => bar.update({ name }), redrawMs);
    timer.unref();
    const end = (): void => {
      clearInterval(timer);
      this.#ends.delete(end);
      if (!this.#active.delete(bar)) return;
      bars.remove(bar);
      if (this.#active.size > 0) return;
      bars.stop();
      this.#bars = undefined;
    };
    this.#ends.add(end);
    return { step: (count = 1) => bar.increment(count), end };
  }

  note(text: string): void {
    if (this.#bars === undefined) this.#stream.write(`${text}\n`);
    else this.#bars.log(`${text}\n`);
  }

  close(): void {
    for (const end of this.#ends) end();
  }
}
