/**
 * The certificates with which the NATS servers of a cluster know each other: one authority, which every member derives from the cluster's secret,
 * and a certificate of its own that each member signs with it. Sources: RFC 5280, RFC 8410 (Ed25519).
 *
 * Written here instead of by a package: these are two fixed shapes that are only written, never read, while `@peculiar/x509` would bring 20
 * packages (5 MB) and a polyfill that changes `Reflect` for the whole process.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import {
  bitString,
  booleanTrue,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from "../../crypto/der-writer.ts";
import { alternativeNames } from "./alternative-names.ts";

/** PEM texts. `authority` is the same for all members, byte for byte; `certificate` and `key` are new with each call. */
export type MemberCertificates = { readonly authority: string; readonly certificate: string; readonly key: string };

export type CertificateRequest = {
  /** 32 bytes: `authoritySeed` of the cluster's keys. */
  readonly authoritySeed: Buffer;
  /** Shown in the peers' logs; it decides nothing. */
  readonly memberName: string;
  /**
   * DNS names and addresses at which other members reach this one, at least one. A peer compares its route with them. If only some routes
   * of a peer are by name, nats-server first wants such a name from servers at an address too, and tries again without it.
   */
  readonly hosts: readonly string[];
  readonly nowMs: number;
  /** Until the member's certificate expires. */
  readonly days: number;
};

/** What a certificate says, each field encoded. */
type Body = {
  readonly serialNumber: Buffer;
  readonly issuer: Buffer;
  readonly validity: Buffer;
  readonly subject: Buffer;
  readonly publicKey: Buffer;
  readonly extensions: readonly Buffer[];
};

const hourMs = 3_600_000;
/** The authority lives as long as the secret: until the date that RFC 5280 section 4.1.2.5 gives to certificates without an end. */
const authorityValidity = sequence(time(Date.UTC(2020, 0)), time(Date.UTC(9999, 11, 31, 23, 59, 59)));
/** `ub-common-name` of RFC 5280 appendix A.1. */
const commonNameCharactersMax = 64;
const serialBytes = 16;
const keyIdBytes = 20;
const publicKeyBytes = 32;

const ed25519 = sequence(objectIdentifier("1.3.101.112"));
/** A private key of Ed25519 as PKCS#8, up to its 32 bytes. */
const privateKeyHead = Buffer.from("302e020100300506032b657004220420", "hex");

/** @throws SaltworksError CONFIG_INVALID without hosts, and for a host that is neither a DNS name nor an address */
export function mintCertificates(request: CertificateRequest): MemberCertificates {
  const { authoritySeed, memberName, hosts, nowMs, days } = request;
  const authorityKey = createPrivateKey({
    key: Buffer.concat([privateKeyHead, authoritySeed]),
    format: "der",
    type: "pkcs8",
  });
  const authority = describeKey(createPublicKey(authorityKey));
  const member = generateKeyPairSync("ed25519");
  const own = describeKey(member.publicKey);
  // The key's id tells the authorities of two secrets apart in logs.
  const issuer = distinguishedName(`saltworks cluster ${authority.id.toString("hex").slice(0, 8)}`);
  return {
    authority: signedText(authorityKey, {
      // From the key, because every member writes the same text.
      serialNumber: serialNumber(authority.id),
      issuer,
      validity: authorityValidity,
      subject: issuer,
      publicKey: authority.encoded,
      extensions: authorityExtensions(authority.id),
    }),
    certificate: signedText(authorityKey, {
      serialNumber: serialNumber(randomBytes(serialBytes)),
      issuer,
      // From an hour ago, because members' clocks differ.
      validity: sequence(time(nowMs - hourMs), time(nowMs + days * 24 * hourMs)),
      subject: distinguishedName(memberName),
      publicKey: own.encoded,
      extensions: memberExtensions(own.id, authority.id, hosts),
    }),
    key: member.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}

/** `id`: method 1 of RFC 7093 section 2. */
function describeKey(key: KeyObject): { encoded: Buffer; id: Buffer } {
  const encoded = key.export({ format: "der", type: "spki" });
  const bits = encoded.subarray(-publicKeyBytes);
  return { encoded, id: createHash("sha256").update(bits).digest().subarray(0, keyIdBytes) };
}

function signedText(authorityKey: KeyObject, body: Body): string {
  const { issuer, validity, subject, publicKey, extensions } = body;
  const version3 = explicit(0, integer(Buffer.of(2)));
  const content = sequence(
    ...[version3, body.serialNumber, ed25519, issuer, validity, subject, publicKey],
    explicit(3, sequence(...extensions)),
  );
  const certificate = sequence(content, ed25519, bitString(sign(null, content, authorityKey)));
  return new X509Certificate(certificate).toString();
}

/** A positive number of `serialBytes`: its first byte is neither zero nor above 127. */
function serialNumber(source: Buffer): Buffer {
  const bytes = Buffer.from(source.subarray(0, serialBytes));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return integer(bytes);
}

function distinguishedName(commonName: string): Buffer {
  const text = [...commonName].slice(0, commonNameCharactersMax).join("");
  return sequence(set(sequence(objectIdentifier("2.5.4.3"), utf8String(text))));
}

const extension = (id: string, value: Buffer) => sequence(objectIdentifier(id), octetString(value));
/** A program that does not know it must refuse the certificate. */
const criticalExtension = (id: string, value: Buffer) =>
  sequence(objectIdentifier(id), booleanTrue(), octetString(value));
const basicConstraints = (...constraints: readonly Buffer[]) =>
  criticalExtension("2.5.29.19", sequence(...constraints));
const keyUsage = (bits: Buffer) => criticalExtension("2.5.29.15", bits);
const subjectKeyId = (id: Buffer) => extension("2.5.29.14", octetString(id));

/** It signs certificates of members, and none of further authorities. */
function authorityExtensions(id: Buffer): Buffer[] {
  const isAuthority = booleanTrue();
  const authoritiesBeneath = integer(Buffer.of(0));
  const certificateSigning = bitString(Buffer.of(0b0000_0100), 2);
  return [basicConstraints(isAuthority, authoritiesBeneath), keyUsage(certificateSigning), subjectKeyId(id)];
}

/** To its peers a member is server and client. */
function memberExtensions(id: Buffer, authorityId: Buffer, hosts: readonly string[]): Buffer[] {
  const digitalSignature = bitString(Buffer.of(0b1000_0000), 7);
  const server = objectIdentifier("1.3.6.1.5.5.7.3.1");
  const client = objectIdentifier("1.3.6.1.5.5.7.3.2");
  return [
    basicConstraints(),
    keyUsage(digitalSignature),
    extension("2.5.29.37", sequence(server, client)),
    subjectKeyId(id),
    extension("2.5.29.35", sequence(implicit(0, authorityId))),
    extension("2.5.29.17", sequence(...alternativeNames(hosts))),
  ];
}
