/** Returner `smtp`: an e-mail with the return; subject and text are Jinja templates. Source: Salt 3007's `smtp`. */
import { readFile } from "node:fs/promises";
import { returnerConnectMs } from "../../../limits.ts";
import { printedOf } from "../../../python/repr.ts";
import { formatDate } from "../../../python/strftime.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { memberOf } from "../contract/fields.ts";
import type { Passing, Returner } from "../contract/returner.ts";
import type { Options } from "../contract/settings.ts";

type Transport = { sendMail(mail: { readonly [name: string]: unknown }): Promise<unknown>; close(): void };
/** What this returner uses of the library. */
type Nodemailer = {
  readonly default: { createTransport(options: { readonly [name: string]: unknown }): Transport };
};

const library = { specifier: "nodemailer", install: "nodemailer@10" };
const defaultText =
  "id: {{id}}\r\nfunction: {{fun}}\r\nfunction args: {{fun_args}}\r\njid: {{jid}}\r\nreturn: {{return}}\r\n";

export const smtpReturner: Returner = {
  name: "smtp",
  doc: describe("Sends the return by e-mail.", "test.ping --return smtp"),
  libraries: [library],
  returner: async (passing) => {
    const { settings, load, signal } = passing;
    const options = settings.of("smtp", {
      ...{ from: undefined, to: undefined, host: undefined, port: 25, username: undefined, password: undefined },
      ...{ subject: undefined, gpgowner: undefined, fields: undefined, tls: undefined },
      ...{ renderer: "jinja", template: undefined },
    });
    if (options.has("gpgowner")) throw returnerError("smtp.gpgowner is not built");
    if (options.demand("renderer") !== "jinja") throw returnerError("smtp.renderer knows jinja only");
    const from = options.demand("from");
    const to = options.demand("to").split(",");
    const raw = await messageOf(passing, options, from, to);
    const [user, pass] = [options.text("username"), options.text("password")];
    const { createTransport } = (await load<Nodemailer>(library)).default;
    const transport = createTransport({
      ...{ host: options.demand("host"), port: options.port("port"), secure: false },
      ...(options.isOn("tls") ? { requireTLS: true } : { ignoreTLS: true }),
      ...(user === undefined || pass === undefined ? {} : { auth: { user, pass } }),
      ...{ connectionTimeout: returnerConnectMs, greetingTimeout: returnerConnectMs, socketTimeout: returnerConnectMs },
    });
    const close = () => transport.close();
    signal.addEventListener("abort", close);
    try {
      await transport.sendMail({ envelope: { from, to: to.map((address) => address.trim()) }, raw });
    } finally {
      signal.removeEventListener("abort", close);
      transport.close();
    }
  },
};

async function messageOf(passing: Passing, options: Options, from: string, to: readonly string[]): Promise<string> {
  const { ret } = passing;
  const named = (options.text("fields") ?? "").split(",").filter((field) => ret.has(field));
  const fields = named.map((field) => ` ${printedOf(memberOf(ret, field))}`).join("");
  const subject = await rendered(passing, `${options.text("subject") ?? "Email from Salt"}${fields}`);
  const template = options.text("template");
  const text = await rendered(passing, template === undefined ? defaultText : await readFile(template, "utf8"));
  const charset = ["MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit"];
  const lines = [
    `From: ${from}`,
    `To: ${to.join(", ")}`,
    `Date: ${formatDate(Date.now(), "%a, %d %b %Y %H:%M:%S")} ${zoneText(-new Date().getTimezoneOffset())}`,
    `Subject: ${headerText(subject)}`,
    ...(isAscii(text) ? [] : charset),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}

async function rendered({ extras, ret }: Passing, template: string): Promise<string> {
  if (extras === undefined) throw returnerError("this program renders no templates");
  return await extras.renderTemplate(
    template,
    () => new Map(ret),
    () => undefined,
  );
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** A line break in a returned value must not begin a header of its own. */
function headerText(text: string): string {
  const line = text.replace(/[\r\n]+/g, " ").trim();
  return isAscii(line) ? line : `=?utf-8?B?${Buffer.from(line).toString("base64")}?=`;
}

/** `+0130` for 90 minutes. */
function zoneText(minutes: number): string {
  const magnitude = Math.abs(minutes);
  const digits = Math.floor(magnitude / 60) * 100 + (magnitude % 60);
  return `${minutes < 0 ? "-" : "+"}${String(digits).padStart(4, "0")}`;
}
