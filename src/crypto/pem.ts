/**
 * RSA keys as PEM text: cleaning, loading, making, fingerprints.
 * Source: docs/protocol.md section 3.6.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair as generate,
  type KeyObject,
} from "node:crypto";
import { promisify } from "node:util";
import { SaltworksError } from "../errors.ts";
import { publicKeyBytesMax, rsaModulusBitsMax, rsaModulusBitsMin } from "../limits.ts";
import { readRsaPublicKey } from "./der.ts";

/** The line ends of Python's splitlines, which Salt cleans with. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: three of Python's line ends are control characters
const lineEnd = /\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/;
const publicHeader = /^-----BEGIN (?:RSA )?PUBLIC KEY-----$/;
const publicFooter = /^-----END (?:RSA )?PUBLIC KEY-----$/;
const base64Line = /^[A-Za-z0-9+/]*={0,2}$/;
/** The form of nearly every key: SPKI as OpenSSL and Python's cryptography write it. Saves nine other matches. */
const usualForm = /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/\n]+={0,2})\n-----END PUBLIC KEY-----\n?$/;

/** The form in which keys are compared: no white space around the text, LF as line end, no LF at the end. Lines keep their own white space. */
export function cleanPem(text: string): string {
  return text.trim().split(lineEnd).join("\n");
}

function badKey(message: string, cause?: unknown): SaltworksError {
  return new SaltworksError("CRYPTO_BAD_KEY", message, {}, cause === undefined ? undefined : { cause });
}

/**
 * A public RSA key. Each of the two headers may come with each of the two encodings.
 *
 * @throws SaltworksError CRYPTO_BAD_KEY for anything else, and outside `rsaModulusBitsMin`..`rsaModulusBitsMax`
 */
export function loadPublicKey(text: string): KeyObject {
  if (text.length > publicKeyBytesMax) throw badKey("public key text too long");
  const key = readRsaPublicKey(Buffer.from(usualForm.exec(text)?.[1] ?? armoured(text), "base64"));
  if (key === undefined) throw badKey("not an RSA public key");
  if (key.modulusBits < rsaModulusBitsMin || key.modulusBits > rsaModulusBitsMax) {
    throw new SaltworksError("CRYPTO_BAD_KEY", "RSA modulus too small or too large", { bits: key.modulusBits });
  }
  try {
    // PKCS#1 imports twenty times faster than SPKI, because OpenSSL need not guess the format.
    return createPublicKey({ key: key.pkcs1, format: "der", type: "pkcs1" });
  } catch (cause) {
    throw badKey("not a usable RSA public key", cause);
  }
}

/** The Base64 between the BEGIN and END lines. @throws SaltworksError CRYPTO_BAD_KEY */
function armoured(text: string): string {
  const lines = cleanPem(text)
    .split("\n")
    .map((line) => line.trim());
  const body = lines.slice(1, -1);
  const isPem = publicHeader.test(lines[0] ?? "") && publicFooter.test(lines.at(-1) ?? "");
  if (!isPem || !body.every((line) => base64Line.test(line))) throw badKey("not a public key in PEM form");
  return body.join("");
}

/** A private RSA key, PKCS#1 or PKCS#8. @throws SaltworksError CRYPTO_BAD_KEY, also for a wrong passphrase */
export function loadPrivateKey(text: string, passphrase?: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: text, format: "pem", ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    // Thrown without a cause, because OpenSSL's text may quote the input.
    throw badKey("not a private key in PEM form, or the passphrase is wrong");
  }
  if (key.asymmetricKeyType !== "rsa") throw badKey("not an RSA private key");
  return key;
}

const generateAsync = promisify(generate);

/** A new pair in the forms that Salt writes: PKCS#1 private, SPKI public, exponent 65537. */
export async function generateKeyPair(bits: number): Promise<{ privatePem: string; publicPem: string }> {
  const { privateKey, publicKey } = await generateAsync("rsa", {
    modulusLength: bits,
    publicExponent: 65_537,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return { privatePem: privateKey, publicPem: publicKey };
}

/**
 * Salt's fingerprint of a key file's text: the hash of the lines between BEGIN and END, with their LFs, as `aa:bb:..`. For text without these lines,
 * the hash of the whole text.
 */
export function fingerprint(pem: string, hash = "sha256"): string {
  const lines = pem
    .replaceAll("\r\n", "\n")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const isArmoured = lines[0]?.trim().startsWith("-----BEGIN") && lines.at(-1)?.trim().startsWith("-----END");
  const body = isArmoured ? lines.slice(1, -1).map((line) => `${line}\n`) : [pem];
  return (createHash(hash).update(body.join(""), "utf8").digest("hex").match(/../g) ?? []).join(":");
}
