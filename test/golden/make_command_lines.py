"""Asks an installed Salt how its programs take generated command lines apart; prints command_lines.json. Usage: PYTHON make_command_lines.py [SEED [COUNT]] > command_lines.json

PYTHON is the interpreter of an environment with Salt in it. Only Salt's reading of options is asked, not what its programs then check or do.
"""
import contextlib
import io
import json
import optparse
import random
import sys

import salt.utils.parsers
import salt.version

RNG = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 20261120)
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 60
PARSERS = {
    "salt": salt.utils.parsers.SaltCMDOptionParser,
    "key": salt.utils.parsers.SaltKeyOptionParser,
    "run": salt.utils.parsers.SaltRunOptionParser,
    "call": salt.utils.parsers.SaltCallOptionParser,
    "master": salt.utils.parsers.MasterOptionParser,
    "minion": salt.utils.parsers.MinionOptionParser,
}
WORDS = """es1 * test.ping a=1 -- - -x --x -5 -1 --nosuch --no --no-c --no-color --no-colour=1 -t 5 -t5 -t=5 -t -5 -t abc -t0x1f -t 010 -t08 -t1_0 -t+5 -t1.5 --timeout=7 --timeout 7 --tim 7 --ti=8 --t --timeout= --timeout=-3
-c /x -c/x --config-dir=/x --conf /y --config-dir -v -vs -vsx -svt9 -vt --verb --verbose=1 --ver --v -s --sta --stat --static --show --hide --summ -E -L -G -P -C -S -EL --pcre --grain --grain- --grain-p --compound --delimiter=/ --delim
--out=json --out json --out -v --output=yaml --outp --out- --out-i=-1 --out-indent -1 --out-indent=x --out-file=f --out-file-append --out-file-a --force-c --state_output=terse --state-output terse --state-o --state_v=True
-l info -linfo -l bogus --log-level=debug --log-l quiet --log-level=INFO -y -q -yq -a app* -aapp --accept=x --acc --accept-all --include-d -A -R -D -F -P -d x -f y -p z --list-all --list un -l un -lun --local --master=m --id x --id= --metadata -g -gd --retcode --retcode-passthrough --quiet --args-stdin --no-parse=a,b --no-parse a --args-sep :: --async --asy é --é -é""".split()
NAMES = {
    "timeoutSeconds": "timeout", "configDir": "config_dir", "isVerbose": "verbose", "isStatic": "static", "isTimeoutHidden": "!show_timeout", "isJidShown": "show_jid", "isSummaryShown": "cli_summary",
    "isAsync": "async", "argsSeparator": "args_separator", "isStateDiffOnly": "state_output_diff", "pcre": "pcre", "list": "list", "grain": "grain", "grain_pcre": "grain_pcre", "compound": "compound", "ipcidr": "ipcidr",
    "delimiter": "delimiter", "output": "output", "outputIndent": "output_indent", "outputFile": "output_file", "isOutputFileAppended": "output_file_append", "isColourOff": "no_color", "isColourForced": "force_color",
    "stateOutput": "state_output", "stateVerbose": "state_verbose", "logLevel": "log_level", "logFile": "log_file", "logFileLevel": "log_level_logfile", "isStdinRead": "args_stdin", "noParse": "no_parse", "isQuiet": "quiet", "isYes": "yes",
    "isListAll": "list_all", "accept": "accept", "isAcceptAll": "accept_all", "reject": "reject", "isRejectAll": "reject_all", "isAllIncluded": "include_all", "isAcceptedIncluded": "include_accepted", "isRejectedIncluded": "include_rejected",
    "isDeniedIncluded": "include_denied", "print": "print", "isPrintAll": "print_all", "delete": "delete", "isDeleteAll": "delete_all", "finger": "finger", "isFingerAll": "finger_all", "isGrainsAsked": "grains_run", "isDocAsked": "doc",
    "master": "master", "isLocal": "local", "isRetcodePassed": "retcode_passthrough", "isMetadataShown": "print_metadata", "id": "id", "isReturnEventOff": "no_return_event",
}


def read(name, argv):
    parser = PARSERS[name]()
    parser.prog = {"salt": "salt"}.get(name, "salt-" + name)
    out = io.StringIO()
    parser.error = lambda message: (_ for _ in ()).throw(ValueError(message))
    unset = optparse.Values(dict.fromkeys(parser.defaults))
    try:
        with contextlib.redirect_stdout(out):
            options, words = optparse.OptionParser.parse_args(parser, list(argv), unset)
    except ValueError as error:
        return {"error": str(error)}
    except SystemExit:
        return {"shown": True}
    given = {}
    for key, dest in NAMES.items():
        value = getattr(options, dest.lstrip("!"), None)
        if value is not None:
            given[key] = not value if dest.startswith("!") else value
    return {"given": given, "words": words}


def main():
    cases = []
    for name in PARSERS:
        for word in WORDS:
            cases.append([name, [word]])
            cases.append([name, [word, "5", "es1"]])
        for _ in range(COUNT):
            cases.append([name, [RNG.choice(WORDS) for _ in range(RNG.choice((2, 3, 4, 5)))]])
    options = {}
    for name, parser in PARSERS.items():
        parser = parser()
        groups = [("", parser.option_list)] + [(group.title, group.option_list) for group in parser.option_groups]
        options[name] = [[title, [one._short_opts + one._long_opts for one in members]] for title, members in groups]
    json.dump({"salt": salt.version.__version__, "options": options, "cases": [[n, a, read(n, a)] for n, a in cases]}, sys.stdout, ensure_ascii=True, separators=(",", ":"))


main()
