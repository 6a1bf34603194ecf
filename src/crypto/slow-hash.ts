/**
 * Checks passwords against hashes that are slow on purpose: bcrypt (`$2a$`, `$2b$`, `$2y$`) and argon2id. What a check costs stands in the hash, so
 * a hash above the bounds is refused before. Checks run one at a time and leave the thread's event loop free.
 */
import { compare } from "bcryptjs";
import sodium from "sodium-native";
import { argon2MemoryKibMax, argon2WorkKibMax, bcryptCostMax } from "../limits.ts";

/** The forms by the name of the setting `^hashtype`. */
export const slowHashForms = { bcrypt: /^\$2[aby]\$/, argon2id: /^\$argon2id\$/ } as const;
const bcryptForm = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const argon2Form = /^\$argon2id\$v=19\$m=(\d{1,10}),t=(\d{1,10}),p=(\d{1,3})\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/;

/** `refused`: why the hash is not checked. */
export type SlowHashResult = boolean | { readonly refused: string };

/** The end of the check before, so that hashes take the memory and the core of one. */
let turn: Promise<unknown> = Promise.resolve();

/** Undefined for a hash of another form. */
export function checkSlowHash(hash: string, password: string): Promise<SlowHashResult> | undefined {
  const step = stepFor(hash, password);
  if (step === undefined) return undefined;
  if (typeof step !== "function") return Promise.resolve(step);
  const result = turn.then(step);
  turn = result.catch(() => undefined);
  return result;
}

function stepFor(hash: string, password: string): (() => Promise<boolean>) | { readonly refused: string } | undefined {
  if (slowHashForms.bcrypt.test(hash)) {
    const cost = Number(bcryptForm.exec(hash)?.[1]);
    if (Number.isNaN(cost) || cost < 4) return { refused: "a bcrypt hash is malformed" };
    if (cost > bcryptCostMax) return { refused: `a bcrypt hash has cost ${cost}, more than ${bcryptCostMax}` };
    return () => compare(password, hash);
  }
  if (!slowHashForms.argon2id.test(hash)) return undefined;
  const [memoryKib = 0, passes = 0, lanes = 0] = (argon2Form.exec(hash)?.slice(1) ?? []).map(Number);
  if (lanes === 0 || passes === 0 || hash.length >= sodium.crypto_pwhash_STRBYTES)
    return { refused: "an argon2id hash is malformed, or not of version 19" };
  if (memoryKib > argon2MemoryKibMax)
    return { refused: `an argon2id hash takes ${memoryKib} KiB of memory, more than ${argon2MemoryKibMax}` };
  if (memoryKib * passes > argon2WorkKibMax)
    return {
      refused: `an argon2id hash goes over ${memoryKib * passes} KiB in all passes, more than ${argon2WorkKibMax}`,
    };
  // libsodium takes no empty password.
  return password === "" ? async () => false : () => verifyArgon2(hash, password);
}

function verifyArgon2(hash: string, password: string): Promise<boolean> {
  const kept = Buffer.alloc(sodium.crypto_pwhash_STRBYTES);
  kept.write(hash, "latin1");
  return new Promise((resolve, reject) => {
    sodium.crypto_pwhash_str_verify_async(kept, Buffer.from(password, "utf8"), (error, isRight) =>
      error === null ? resolve(isRight) : reject(error),
    );
  });
}
