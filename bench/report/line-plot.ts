/** The data of one plot of lines on the page, over rates or over time. Types only. */

/** Lines that each have their own x. `mark`: a vertical line. */
export type LinePlot = {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Whether x is seconds since 1970. */
  readonly isTime: boolean;
  readonly isLog: boolean;
  readonly lines: readonly { readonly name: string; readonly x: readonly number[]; readonly y: readonly number[] }[];
  readonly mark?: { readonly x: number; readonly label: string };
};
