/** A master's private key, as PEM: small, because these tests seal with it and verify nothing. */
import { generateKeyPairSync } from "node:crypto";

export function newKey(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 });
  return privateKey.export({ type: "pkcs1", format: "pem" }).toString();
}
