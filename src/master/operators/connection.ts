/** The connection over which an operator asks, as far as commands need it. */

/** `prove`: a key was right, or a token or password of a user that may do anything at all. */
export type Connection = { readonly address: string; readonly prove: () => void };

/** Of questions that come over no connection of an operator. */
export const noConnection: Connection = { address: "", prove: () => undefined };
