/**
 * Writes DER: the types of ASN.1 that a certificate needs. Pure.
 * Source: ITU-T X.690 sections 8 and 10; RFC 5280 section 4.1.2.5 for times.
 */

/** Tag, length and contents: what all other functions here return. */
function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), encodedLength(content.length), content]);
}

function encodedLength(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.of(bytes);
  const size = Buffer.from(evenDigits(bytes.toString(16)), "hex");
  return Buffer.concat([Buffer.of(0x80 | size.length), size]);
}

function evenDigits(hex: string): string {
  return hex.length % 2 === 0 ? hex : `0${hex}`;
}

export const sequence = (...items: readonly Uint8Array[]) => element(0x30, ...items);
export const set = (item: Uint8Array) => element(0x31, item);
export const octetString = (bytes: Uint8Array) => element(0x04, bytes);
export const utf8String = (text: string) => element(0x0c, Buffer.from(text, "utf8"));
/** The only value that DER writes: false is the default wherever a certificate has a boolean, and left out. */
export const booleanTrue = () => element(0x01, Buffer.of(0xff));
/** @param bytes - big-endian, not negative and without a needless zero: the first byte is 1 to 127, or the only byte 0 */
export const integer = (bytes: Uint8Array) => element(0x02, bytes);
/** @param unusedBits - at the end of the last byte; these are 0 */
export const bitString = (bytes: Uint8Array, unusedBits = 0) => element(0x03, Buffer.of(unusedBits), bytes);
/** A value in a tag of its own, as `[0] EXPLICIT`. */
export const explicit = (number: number, item: Uint8Array) => element(0xa0 | number, item);
/** The contents of a string in another tag, as `[2] IMPLICIT`. */
export const implicit = (number: number, bytes: Uint8Array) => element(0x80 | number, bytes);

/** @param dotted - as `1.3.101.112`, with a first number of 0 or 1, or of 2 and a second up to 47 */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...more] = dotted.split(".").map(Number);
  return element(0x06, ...[first * 40 + second, ...more].map(base128));
}

/** Groups of seven bits; all bytes but the last have the highest bit. */
function base128(value: number): Buffer {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return Buffer.from(bytes);
}

/** Seconds precision. Two digits for the years 1950 to 2049 and four after, as certificates must. */
export function time(unixMs: number): Buffer {
  const digits = new Date(unixMs).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return digits < "2050" ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}
