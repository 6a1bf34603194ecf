/** What a check has read and found so far. */
export class Tally {
  records = 0;
  faultCount = 0;
  readonly faults: string[] = [];
  /** The first few files and directories that no check reads. The next field counts all. */
  readonly leftAlone: string[] = [];
  leftAloneCount = 0;
  readonly #faultsMax: number;

  /** @param faultsMax faults and names that are told one by one; the rest is counted */
  constructor(faultsMax: number) {
    this.#faultsMax = faultsMax;
  }

  leave(path: string): void {
    this.leftAloneCount += 1;
    if (this.leftAlone.length < this.#faultsMax) this.leftAlone.push(path);
  }

  fault(text: string): void {
    this.faultCount += 1;
    if (this.faults.length < this.#faultsMax) this.faults.push(text);
  }
}

/** Where a check looks. `isRunning`: a master may write there meanwhile. `onProgress` gets the share of a file that was read. */
export type Look = {
  readonly path: string;
  readonly isRunning: boolean;
  readonly onProgress: (file: string, share: number) => void;
};

/** @throws what could not be read for another reason than damage */
export type Check = (tally: Tally, look: Look) => void;
