/**
 * The parser of the `yaml` package with libyaml's rule for continued lines: inside quotes and brackets indentation has no meaning.
 * Templates write such lines at the margin (a text of several lines in quotes, a dump of JSON), and Salt reads them.
 */
import {
  Composer,
  type Document,
  type DocumentOptions,
  Lexer,
  type LineCounter,
  type ParseOptions,
  Parser,
  type SchemaOptions,
  YAMLParseError,
} from "yaml";

/** Internals of the lexer. test/pillar/input/yaml.test.ts fails if another version of the package changes them. */
type Inner = {
  /** Least indentation of a continued line. */
  indentNext: number;
  lex(source: string): Generator<string>;
  parseQuotedScalar(): Generator<string, unknown>;
  parseFlowCollection(): Generator<string, unknown>;
};

class MarginLexer extends (Lexer as unknown as new () => Inner) {
  override *parseQuotedScalar(): Generator<string, unknown> {
    const indent = this.indentNext;
    this.indentNext = 0;
    const next = yield* super.parseQuotedScalar();
    this.indentNext = indent;
    return next;
  }

  override *parseFlowCollection(): Generator<string, unknown> {
    const indent = this.indentNext;
    this.indentNext = 0;
    const next = yield* super.parseFlowCollection();
    // The lexer itself sets `indentNext` if a document mark ends the document inside brackets.
    if (this.indentNext === 0) this.indentNext = indent;
    return next;
  }
}

type Options = ParseOptions & DocumentOptions & SchemaOptions & { readonly lineCounter: LineCounter };

function* tokensOf(source: string, counter: LineCounter) {
  const parser = new Parser(counter.addNewLine);
  counter.addNewLine(0);
  for (const lexeme of new MarginLexer().lex(source)) yield* parser.next(lexeme);
  yield* parser.end();
}

/** Parses one document. A second document is reported as an error of the first. */
export function parseYamlDocument(source: string, options: Options): Document {
  const tokens = tokensOf(source, options.lineCounter);
  const [first, second] = new Composer(options).compose(tokens, true, source.length);
  if (first === undefined) throw new Error("a composer that is asked for a document gives one");
  if (second !== undefined) {
    const { range } = second;
    first.errors.push(new YAMLParseError([range[0], range[1]], "MULTIPLE_DOCS", "Source contains multiple documents"));
  }
  return first;
}
