/** The error of an external source (`ext_pillar`). */
import { SaltworksError } from "../../errors.ts";

/**
 * Makes an error whose message follows "Failed to load ext_pillar NAME: ". `isFatal`: `ext_pillar_failures: ignore` does not hide it.
 * `isTooLarge`: the source gave more than `extPillarBytesMax`.
 */
export function sourceFault(
  message: string,
  detail: { readonly isFatal?: boolean; readonly isTooLarge?: boolean } = {},
): SaltworksError {
  return new SaltworksError("PILLAR_FAILED", message, { kind: "source", ...detail });
}

/** The code of an error that is not ours, or its name. Its message may quote values. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "an error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
