/** The credential of the API process: it proves nothing but that a request's `client_address` is true. docs/decisions/0040-api-credential.md. */

/** No user of a machine has a colon in its name. The key is in the file `<cachedir>/.:api_key`, which only the master's own user can read. */
export const apiKeyUser = ":api";
