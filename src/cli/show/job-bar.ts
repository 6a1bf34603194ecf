/** The progress bar of `--progress`: how many minions are targeted, run, have returned and have failed. Only on a terminal as standard error. */
import { SingleBar } from "cli-progress";

const redrawsPerSecond = 8;
const barWidth = 24;
/** For a terminal that does not report its width. */
const terminalColumns = 80;

export class JobBar {
  readonly #bar: SingleBar | undefined;
  readonly #minions: Set<string>;
  readonly #returned = new Set<string>();
  readonly #startedMs = performance.now();
  #failedCount = 0;
  #silentCount = 0;
  #stateCount = 0;

  /** Draws nothing without a terminal. */
  constructor(stream: NodeJS.WriteStream | undefined, minions: readonly string[]) {
    this.#minions = new Set(minions);
    if (stream === undefined) return;
    this.#bar = new SingleBar({
      stream,
      // Computed at each redraw, so that the elapsed time advances between returns.
      format: () => this.#text().slice(0, (stream.columns || terminalColumns) - 1),
      fps: redrawsPerSecond,
      // Does not change the terminal's modes, because a killed command could not restore them.
      hideCursor: false,
      linewrap: true,
      clearOnComplete: true,
      // The command handles Ctrl-C itself.
      gracefulExit: false,
    });
    this.#bar.start(this.#minions.size, 0);
  }

  /** Also adds the minion, because minions below syndics become known during the job. */
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

  /** Sets the number of finished states on all minions together. */
  noteStates(count: number): void {
    this.#stateCount = count;
    this.#draw();
  }

  /** Hides the bar while `print` writes to the terminal. */
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
