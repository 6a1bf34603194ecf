/** `saltworks key --gen-keys` and `--gen-signature`: makes new key files. Source: docs/compatibility.md, "saltworks key". */
import { mkdirSync } from "node:fs";
import { makeKeyPair, type SignatureRequest, writeKeySignature } from "../../client/key-pairs.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import { ownerUid } from "../input/process-user.ts";
import type { OptionsOf } from "../options/parse.ts";
import type { Display } from "../show/display.ts";

type KeyOptions = OptionsOf<"key">;

const defaultBitsMin = 2_048;
const defaultDir = ".";

/** @returns false if the command line asks for neither */
export async function runKeyGeneration(options: KeyOptions, config: MasterConfig, display: Display): Promise<boolean> {
  const { generatedName: name = "" } = options;
  if (name === "" && !options.isSignatureAsked) return false;
  const bits = options.keySizeBits ?? Math.max(config.keysize, defaultBitsMin);
  const owner = await ownerUid(options.user ?? config.user);
  const value = name === "" ? signed(options, config, bits, owner) : made(name, options, config, bits, owner);
  display.show(new Map([["return", value]]));
  return true;
}

function made(name: string, options: KeyOptions, config: MasterConfig, bits: number, owner: number | undefined) {
  return makeKeyPair({ directory: generatedDirectory(options), name, bits, ownerUid: owner }, config);
}

function signed(options: KeyOptions, config: MasterConfig, bits: number, owner: number | undefined): string | boolean {
  const request: SignatureRequest = {
    privateFile: given(options.signingKeyFile),
    publicFile: given(options.signedKeyFile),
    directory: given(options.signatureDir),
    isSigningKeyMade: options.isSigningKeyMade,
    bits,
    ownerUid: owner,
  };
  const outcome = writeKeySignature(request, config);
  return outcome.ok ? outcome.isWritten : outcome.text;
}

function given(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

/** Makes the directory for a new pair. @throws SaltworksError STORE_FAILED */
export function generatedDirectory(options: Pick<KeyOptions, "generatedDir">): string {
  const directory = options.generatedDir ?? defaultDir;
  try {
    mkdirSync(directory, { recursive: true });
  } catch (cause) {
    throw new SaltworksError("STORE_FAILED", `${directory} cannot be made`, { directory }, { cause });
  }
  return directory;
}
