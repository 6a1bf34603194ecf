/** An operator's connection, as far as commands need it. */

/** `prove`: a key was right, or a token or password of a user that may do anything at all. */
export type Connection = { readonly address: string; readonly prove: () => void };

/** For questions that do not come over an operator's connection. */
export const noConnection: Connection = { address: "", prove: () => undefined };
