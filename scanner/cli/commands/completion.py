"""``adhere completion``: the script by which a shell completes the command line of adhere."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: commands, options, profiles, formats, rules, contexts and listeners.

    \b
    bash: eval "$(adhere completion bash)"
    zsh:  eval "$(adhere completion zsh)"
    fish: adhere completion fish | source
    """
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - click has all three
    click.echo(script(context.find_root().command, {}, "adhere", "_ADHERE_COMPLETE").source())
