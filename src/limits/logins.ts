/** Bounds of wrong passwords by user and by address. */

// # Guesses of passwords

/** Wrong logins as one user from one address (of IPv6: a /64): at first, then one each `eachMs`. Over it: refused unchecked. */
export const guessesOfPairMax = { atFirst: 20, eachMs: 30_000 } as const;
/**
 * Wrong logins as one user from all addresses that it did not log in from lately: at first, then one each `eachMs`. Over it: refused unchecked.
 */
export const guessesOfUserMax = { atFirst: 100, eachMs: 6_000 } as const;
/** Wrong logins from one address (of IPv6: a /64) as all users that did not log in from it lately. Over it: refused unchecked. */
export const guessesOfAddressMax = { atFirst: 200, eachMs: 3_000 } as const;
/** How long a right login keeps its user and address apart from guesses by others, milliseconds. */
export const knownLoginMs = 24 * 3_600 * 1_000;
/** Pairs, users, addresses and known logins that are remembered, of each; the one that was longest unused goes. */
export const guessersMax = 10_000;
