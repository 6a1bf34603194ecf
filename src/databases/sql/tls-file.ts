/** Files of certificates and keys for TLS to a database. */
import { readFileSync } from "node:fs";
import { SaltworksError } from "../../errors.ts";

/** @throws SaltworksError DATABASE_FAILED */
export function tlsFileBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new SaltworksError("DATABASE_FAILED", `${path} cannot be read`, { path }, { cause: error });
  }
}
