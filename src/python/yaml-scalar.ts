/**
 * Writes one YAML scalar in the style that libyaml chooses: plain, quoted or literal.
 * Source: https://yaml.org/spec/1.1/ chapter 9; choices as measured on libyaml 0.2.5 behind PyYAML (test/golden/outputs.json).
 */
import { plainKind } from "../config/yaml/yaml11.ts";

export type ScalarStyle = "plain" | "single" | "double";

/** Position of a scalar. */
type ScalarPlace = { readonly isInFlow: boolean; readonly isSimpleKey: boolean };

type Analysis = { isFlowPlain: boolean; isBlockPlain: boolean; isSingleQuoted: boolean; isMultiline: boolean };

const breaks = "\n\r\x85\u2028\u2029";
const isBreak = (character: string) => breaks.includes(character);
const isBlankOrEnd = (character: string | undefined) =>
  character === undefined || character === " " || character === "\t" || isBreak(character);
/** Characters that need no escape. libyaml does not count characters beyond U+FFFF, such as emoji, as printable. */
const printable = /^[\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/u;

/** Whether the text has more than one line. */
export function isMultiline(text: string): boolean {
  return [...text].some(isBreak);
}

/** The first of plain, single and double quotes that can hold the text here and reads back as text. */
export function textStyle(text: string, place: ScalarPlace): ScalarStyle {
  const analysis = analyse(text);
  if (place.isSimpleKey && analysis.isMultiline) return "double";
  const isPlain = place.isInFlow ? analysis.isFlowPlain : analysis.isBlockPlain;
  if (isPlain && plainKind(text) === "text") return "plain";
  return analysis.isSingleQuoted ? "single" : "double";
}

function analyse(text: string): Analysis {
  const indicators = analyseIndicators(text);
  const isSpecial = !printable.test(text);
  const isMultilineText = isMultiline(text);
  const hasOuterBlank = /^[ \n\u2028\u2029]|[ \n\u2028\u2029]$/u.test(text);
  const isSpaceBreak = / [\n\r\x85\u2028\u2029]/u.test(text);
  const isBreakSpace = /[\n\r\x85\u2028\u2029] /u.test(text);
  const isPlainText = !(isSpecial || isMultilineText || hasOuterBlank || isSpaceBreak || isBreakSpace);
  return {
    isFlowPlain: isPlainText && !indicators.flow && text !== "",
    isBlockPlain: isPlainText && !indicators.block,
    isSingleQuoted: !(isSpecial || isSpaceBreak || isBreakSpace),
    isMultiline: isMultilineText,
  };
}

/** Whether characters of the text would be read as syntax, inside and outside brackets. */
function analyseIndicators(text: string): { flow: boolean; block: boolean } {
  const characters = [...text];
  let flow = text.startsWith("---") || text.startsWith("...");
  let block = flow;
  characters.forEach((character, index) => {
    const isFollowedByBlank = isBlankOrEnd(characters[index + 1]);
    if (index === 0 && "#,[]{}&*!|>'\"%@`".includes(character)) flow = block = true;
    else if (index === 0 && character === "-" && isFollowedByBlank) flow = block = true;
    else if (",?[]{}".includes(character)) flow = true;
    else if (character === "#" && isBlankOrEnd(characters[index - 1])) flow = block = true;
    if (character === ":" || (index === 0 && character === "?")) {
      flow = true;
      block ||= isFollowedByBlank;
    }
  });
  return { flow, block };
}

const doubleEscapes: Readonly<Record<string, string>> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  '"': '"',
  "\\": "\\",
  "\x85": "N",
  "\xa0": "_",
  "\u2028": "L",
  "\u2029": "P",
};

/** A character inside double quotes. */
function escapeDouble(character: string): string {
  if (character !== "\xa0" && character in doubleEscapes) return `\\${doubleEscapes[character]}`;
  if (printable.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** Whether a quoted or plain text may be folded here: at a single blank. */
type TextWriter = {
  readonly isPastWidth: () => boolean;
  readonly put: (text: string) => void;
  readonly putIndent: () => void;
};

/** Writes the text between its quotes, folding at blanks beyond the width unless it is a simple key. */
export function writeText(text: string, style: ScalarStyle, isFoldable: boolean, writer: TextWriter): void {
  const characters = [...text];
  let wasSpace = false;
  let wasBreak = false;
  characters.forEach((character, index) => {
    if (character === " ") {
      const isInside = style === "plain" || (index > 0 && index < characters.length - 1);
      const isNextSpace = characters[index + 1] === " ";
      const isFold =
        isFoldable && !wasSpace && writer.isPastWidth() && isInside && (style === "double" || !isNextSpace);
      if (isFold) {
        writer.putIndent();
        if (style === "double" && isNextSpace) writer.put("\\");
      } else {
        writer.put(" ");
      }
      wasSpace = true;
    } else if (style !== "double" && isBreak(character)) {
      if (!wasBreak && character === "\n") writer.put("\n");
      writer.put(character === "\n" ? "\n" : character);
      wasBreak = true;
    } else {
      if (wasBreak) writer.putIndent();
      if (style === "double") writer.put(escapeDouble(character));
      else writer.put(style === "single" && character === "'" ? "''" : character);
      wasSpace = false;
      wasBreak = false;
    }
  });
  if (wasBreak && style === "single") writer.putIndent();
}
