/** The connection over which an operator asks, as far as commands need it. */

/** `prove`: a key, token or password was right. */
export type Connection = { readonly address: string; readonly prove: () => void };

/** Of questions that come over no connection of an operator. */
export const noConnection: Connection = { address: "", prove: () => undefined };
