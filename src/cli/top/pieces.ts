/** What lines of `saltworks top` are made of. */

/** A piece of a line. `alarm` highlights it. */
export type Piece = { readonly text: string; readonly tone?: "head" | "alarm" };
/** A row of a table. */
export type Row = readonly (string | Piece)[];

export const alarm = { tone: "alarm" } as const;
