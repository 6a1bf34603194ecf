/** The result of a check so far: counts of records, and faults. */
export class Tally {
  records = 0;
  faultCount = 0;
  readonly faults: string[] = [];
  /** The first few files and directories that no check reads. `leftAloneCount` counts all of them. */
  readonly leftAlone: string[] = [];
  leftAloneCount = 0;
  readonly #faultsMax: number;

  /** @param faultsMax bound of the listed faults, and of the listed names; further ones are only counted */
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

/** Input of a check. `isRunning`: a master may write there meanwhile. `onProgress` gets the share of a file that was read. */
export type Look = {
  readonly path: string;
  readonly isRunning: boolean;
  readonly onProgress: (file: string, share: number) => void;
};

/** Notes damage in `tally`. @throws errors of reading that are not damage */
export type Check = (tally: Tally, look: Look) => void;
