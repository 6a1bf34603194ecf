/** The bar of `--progress`: how many minions of a job are targeted, run, have returned, have failed. Drawn on standard error, on a terminal only. */
import { SingleBar } from "cli-progress";

const redrawsPerSecond = 8;
const barWidth = 24;
/** Of a terminal that does not say. */
const terminalColumns = 80;

export class JobBar {
  readonly #bar: SingleBar | undefined;
  readonly #minions: Set<string>;
  readonly #returned = new Set<string>();
  readonly #startedMs = performance.now();
  #failedCount = 0;
  #silentCount = 0;
  #stateCount = 0;

  /** Without a terminal nothing is drawn. */
  constructor(stream: NodeJS.WriteStream | undefined, minions: readonly string[]) {
    this.#minions = new Set(minions);
    if (stream === undefined) return;
    this.#bar = new SingleBar({
      stream,
      // Asked at each redrawing, so that the time goes on while nothing happens.
      format: () => this.#text().slice(0, (stream.columns || terminalColumns) - 1),
      fps: redrawsPerSecond,
      // Nothing of the terminal is changed that a killed command would leave so.
      hideCursor: false,
      linewrap: true,
      clearOnComplete: true,
      // Ctrl-C is the command's own business.
      gracefulExit: false,
    });
    this.#bar.start(this.#minions.size, 0);
  }

  /** A minion that syndics reach is not among those known at first. */
  noteReturn(id: string, isFailed: boolean): void {
    this.#minions.add(id);
    this.#returned.add(id);
    if (isFailed) this.#failedCount += 1;
    this.#draw();
  }

  noteSilent(id: string): void {
    this.#minions.add(id);
    this.#silentCount += 1;
    this.#draw();
  }

  /** So many states of the run are done on all minions together. */
  noteStates(count: number): void {
    this.#stateCount = count;
    this.#draw();
  }

  /** Takes the bar away from the terminal while `print` writes there. */
  around(print: () => void): void {
    this.#bar?.stop();
    print();
    this.#bar?.start(this.#minions.size, this.#doneCount);
  }

  /** Removes the bar. */
  close(): void {
    this.#bar?.stop();
  }

  get #doneCount(): number {
    return this.#returned.size + this.#silentCount;
  }

  #draw(): void {
    this.#bar?.setTotal(this.#minions.size);
    this.#bar?.update(this.#doneCount);
  }

  #text(): string {
    const targetedCount = this.#minions.size;
    const share = targetedCount === 0 ? 1 : this.#doneCount / targetedCount;
    const fullCount = Math.floor(share * barWidth);
    const counts = [
      `targeted ${targetedCount}`,
      `running ${targetedCount - this.#doneCount}`,
      `returned ${this.#returned.size}`,
      `failed ${this.#failedCount}`,
      ...(this.#silentCount > 0 ? [`silent ${this.#silentCount}`] : []),
      ...(this.#stateCount > 0 ? [`states ${this.#stateCount}`] : []),
    ];
    const seconds = Math.floor((performance.now() - this.#startedMs) / 1_000);
    const bar = "█".repeat(fullCount) + "░".repeat(barWidth - fullCount);
    return `  ${bar} ${Math.floor(share * 100)}%  ${counts.join("  ")}  ${seconds}s`;
  }
}
