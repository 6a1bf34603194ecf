/** Which ID tokens are taken at all. Sources: OpenID Connect Core 1.0 section 3.1.3.7, RFC 8725. */

/** Signatures with a public key alone: a token cannot choose `none`, or a key that its reader knows. */
export const idTokenAlgorithms = ["RS256", "ES256"];
/** Between the provider's clock and ours. */
export const clockToleranceSeconds = 30;
