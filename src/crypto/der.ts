/**
 * Minimal DER: extracts an RSA public key from SPKI, and finds its size before OpenSSL sees it.
 * Source: RFC 8017 appendix A.1.1 (RSAPublicKey), RFC 5280 section 4.1 (SubjectPublicKeyInfo).
 */

/** AlgorithmIdentifier of rsaEncryption with NULL parameters. */
const rsaAlgorithm = Buffer.from("300d06092a864886f70d0101010500", "hex");

type Element = { readonly tag: number; readonly start: number; readonly end: number };

/** The element at `offset` within `limit`, or undefined if none fits. */
function elementAt(der: Buffer, offset: number, limit: number): Element | undefined {
  const tag = der[offset];
  let length = der[offset + 1];
  if (tag === undefined || length === undefined) return undefined;
  let start = offset + 2;
  if (length > 0x80 && length <= 0x83) {
    const width = length - 0x80;
    if (start + width > limit) return undefined;
    length = der.readUIntBE(start, width);
    start += width;
  } else if (length >= 0x80) {
    return undefined;
  }
  return start + length > limit ? undefined : { tag, start, end: start + length };
}

/** `pkcs1`: the RSAPublicKey element. Undefined for what is neither SPKI of an RSA key nor PKCS#1. */
export function readRsaPublicKey(der: Buffer): { pkcs1: Buffer; modulusBits: number } | undefined {
  const outer = elementAt(der, 0, der.length);
  if (outer?.tag !== 0x30 || outer.end !== der.length) return undefined;
  const first = elementAt(der, outer.start, outer.end);
  if (first?.tag === 0x02) return readPkcs1(der);
  if (!der.subarray(outer.start, first?.end).equals(rsaAlgorithm)) return undefined;
  const bits = elementAt(der, outer.start + rsaAlgorithm.length, outer.end);
  if (bits?.tag !== 0x03 || bits.end !== outer.end || der[bits.start] !== 0) return undefined;
  return readPkcs1(der.subarray(bits.start + 1, bits.end));
}

function readPkcs1(der: Buffer): { pkcs1: Buffer; modulusBits: number } | undefined {
  const outer = elementAt(der, 0, der.length);
  if (outer?.tag !== 0x30 || outer.end !== der.length) return undefined;
  const n = elementAt(der, outer.start, outer.end);
  if (n?.tag !== 0x02) return undefined;
  const e = elementAt(der, n.end, outer.end);
  if (e?.tag !== 0x02 || e.end !== outer.end || isNegative(der, n) || isNegative(der, e)) return undefined;
  if (!isOddAboveOne(der, n) || !isOddAboveOne(der, e)) return undefined;
  return { pkcs1: der, modulusBits: bitLength(der, n) };
}

function isNegative(der: Buffer, integer: Element): boolean {
  return ((der[integer.start] ?? 0xff) & 0x80) !== 0;
}

/** A usable modulus or exponent is odd and above 1. */
function isOddAboveOne(der: Buffer, integer: Element): boolean {
  return ((der[integer.end - 1] ?? 0) & 1) === 1 && bitLength(der, integer) > 1;
}

function bitLength(der: Buffer, integer: Element): number {
  let start = integer.start;
  while (start < integer.end && der[start] === 0) start += 1;
  const top = der[start] ?? 0;
  return start === integer.end ? 0 : (integer.end - start) * 8 - Math.clz32(top) + 24;
}
