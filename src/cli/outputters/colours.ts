/** The colours of Salt's default theme as terminal sequences. The caller decides whether to use them. */

export type Colour =
  | "red"
  | "boldRed"
  | "green"
  | "boldGreen"
  | "boldYellow"
  | "blue"
  | "boldBlue"
  | "magenta"
  | "boldMagenta"
  | "cyan"
  | "lightGray"
  | "darkGray"
  | "white";

/** `paint.red` starts red text and `paint.end` ends any colour. All are empty without colours. */
export type Paint = Readonly<Record<Colour | "end", string>>;

const coloured: Paint = {
  red: "\x1b[0;31m",
  boldRed: "\x1b[0;1;31m",
  green: "\x1b[0;32m",
  boldGreen: "\x1b[0;1;32m",
  boldYellow: "\x1b[0;1;33m",
  blue: "\x1b[0;34m",
  boldBlue: "\x1b[0;1;34m",
  magenta: "\x1b[0;35m",
  boldMagenta: "\x1b[0;1;35m",
  cyan: "\x1b[0;36m",
  lightGray: "\x1b[0;37m",
  darkGray: "\x1b[0;1;30m",
  white: "\x1b[0;1;37m",
  end: "\x1b[0;0m",
};

const plain: Paint = {
  red: "",
  boldRed: "",
  green: "",
  boldGreen: "",
  boldYellow: "",
  blue: "",
  boldBlue: "",
  magenta: "",
  boldMagenta: "",
  cyan: "",
  lightGray: "",
  darkGray: "",
  white: "",
  end: "",
};

export function paintFor(isColoured: boolean): Paint {
  return isColoured ? coloured : plain;
}
