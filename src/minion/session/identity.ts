/**
 * The minion's identity on disk: its key pair, and the master key that it has pinned.
 * Files, names and modes are Salt's (docs/protocol.md sections 3.5 and 3.6), so that Salt's minion and this one can replace each other.
 */
import type { KeyObject } from "node:crypto";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MinionConfig } from "../../config/schema.ts";
import { cleanPem, generateKeyPair, loadPrivateKey, loadPublicKey } from "../../crypto/pem.ts";
import { signX931 } from "../../crypto/x931.ts";
import { SaltworksError } from "../../errors.ts";

const pinnedName = "minion_master.pub";

export type Identity = {
  readonly id: string;
  readonly privateKey: KeyObject;
  /** In the form of `cleanPem`, which Salt's current minions send. */
  readonly publicPem: string;
  /** Proves in each request that the minion has the private key: the X9.31 signature of the text `salt`, constant for a key. */
  readonly token: Buffer;
  /** Reads the pair from disk again, because `saltutil.regen_keys` and operators replace it while the minion runs. */
  readonly renew: () => Promise<void>;
};

type KeyConfig = Pick<MinionConfig, "id" | "pki_dir" | "keysize">;

/** Loads the key pair, or makes one at the first start. @throws SaltworksError CRYPTO_BAD_KEY if a file does not hold a key */
export async function openIdentity(config: KeyConfig): Promise<Identity> {
  let pair = await openPair(config);
  return {
    id: config.id,
    get privateKey() {
      return pair.privateKey;
    },
    get publicPem() {
      return pair.publicPem;
    },
    get token() {
      return pair.token;
    },
    renew: async () => {
      pair = await openPair(config, pair);
    },
  };
}

type Pair = Pick<Identity, "privateKey" | "publicPem" | "token"> & { readonly privatePem: string };

/** Returns `known` if the files still hold that pair. */
async function openPair(config: KeyConfig, known?: Pair): Promise<Pair> {
  await mkdir(config.pki_dir, { recursive: true, mode: 0o700 });
  const privatePath = join(config.pki_dir, "minion.pem");
  const publicPath = join(config.pki_dir, "minion.pub");
  let privatePem = await readIfThere(privatePath);
  let publicPem = await readIfThere(publicPath);
  if (privatePem === undefined || publicPem === undefined) {
    const made = await generateKeyPair(config.keysize);
    privatePem = made.privatePem;
    publicPem = made.publicPem;
    await writeWhole(privatePath, privatePem, 0o400);
    await writeWhole(publicPath, publicPem, 0o644);
  }
  if (known?.privatePem === privatePem && known.publicPem === cleanPem(publicPem)) return known;
  const privateKey = loadPrivateKey(privatePem);
  const token = signX931(privateKey, Buffer.from("salt"));
  return { privatePem, privateKey, publicPem: cleanPem(publicPem), token };
}

export type PinnedKey = { readonly pem: string; readonly key: KeyObject };

/** The master key that an earlier sign-in pinned; undefined before the first. @throws SaltworksError CRYPTO_BAD_KEY if the file is damaged */
export async function readPinnedKey(pkiDir: string): Promise<PinnedKey | undefined> {
  const text = await readIfThere(join(pkiDir, pinnedName));
  if (text === undefined) return undefined;
  return { pem: cleanPem(text), key: loadPublicKey(text) };
}

/** Stores the master's key. From then on the minion trusts only this master. */
export async function pinMasterKey(pkiDir: string, pem: string): Promise<void> {
  await writeWhole(join(pkiDir, pinnedName), pem, 0o644);
}

/** The key that signs master keys; an operator puts it into `pki_dir`. @throws SaltworksError AUTH_MASTER_MISMATCH if the file does not exist */
export async function readSigningKey(pkiDir: string, name: string): Promise<KeyObject> {
  const text = await readIfThere(join(pkiDir, `${name}.pub`));
  if (text === undefined) {
    throw new SaltworksError("AUTH_MASTER_MISMATCH", `${name}.pub, which verifies the master's key, is not in pki_dir`);
  }
  return loadPublicKey(text);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new SaltworksError("CONFIG_UNREADABLE", `cannot read ${path}`, { path }, { cause: error });
  }
}

/** Replaces the file by renaming, so that readers never see half of it. */
async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, text, { mode });
  await chmod(draft, mode);
  await rename(draft, path);
}
