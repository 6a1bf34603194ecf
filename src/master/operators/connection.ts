/** The part of an operator's connection that commands use. */

/** `prove`: marks the connection as proven, after a right key, or a token or password of a user with any grant. */
export type OperatorConnection = { readonly address: string; readonly prove: () => void };

/** For requests that do not come over an operator's connection. */
export const noConnection: OperatorConnection = { address: "", prove: () => undefined };
