"""Write a language model of 0.3 MB with random weights: ``python tiny_gguf.py FILE WINDOW``.

One layer of the llama architecture, one token per byte, ChatML. What it says is noise, but the server around it counts,
streams and refuses as it does for any model. Needs the packages ``gguf`` and ``numpy``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

WIDTH, HIDDEN, HEADS = 64, 128, 2
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGE = "\u0120 \u0120"
"""Two spaces are one token: a vocabulary of this kind must merge something."""

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] or '' }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NORMAL, CONTROL = 1, 3
SPOKEN = range(32, 127)
"""It says nothing but printable ASCII: the server does not stop in the midst of a character, whatever the limit."""


def byte_letters() -> list[str]:
    """The letter that stands for each byte in GPT-2's vocabulary: printable ones for themselves."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in printable}
    hidden = (byte for byte in range(256) if byte not in letters)
    letters |= {byte: chr(256 + place) for place, byte in enumerate(hidden)}
    return [letters[byte] for byte in range(256)]


def write(path: Path, *, window: int) -> None:
    """Write the model; equal files for equal windows."""
    gguf: Any = import_module("gguf")
    numpy: Any = import_module("numpy")
    tokens = [*byte_letters(), MERGE.replace(" ", ""), *SPECIAL]
    random = numpy.random.default_rng(7)

    def weights(*shape: int) -> Any:
        return random.normal(0, 0.05, shape).astype(numpy.float32)

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(window)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([NORMAL] * (len(tokens) - len(SPECIAL)) + [CONTROL] * len(SPECIAL))
    writer.add_token_merges([MERGE])
    writer.add_bos_token_id(len(tokens) - 3)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, shape in shapes(len(tokens)).items():
        values = numpy.ones(shape, dtype=numpy.float32) if name.endswith("norm.weight") else weights(*shape)
        if name == "output.weight":
            values[:, :] *= 20
            values[[place for place in range(len(tokens)) if place not in SPOKEN]] = 0
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    """The tensors."""
    square, wide = (WIDTH, WIDTH), (HIDDEN, WIDTH)
    block = {
        "attn_norm": (WIDTH,),
        "attn_q": square,
        "attn_k": square,
        "attn_v": square,
        "attn_output": square,
        "ffn_norm": (WIDTH,),
        "ffn_gate": wide,
        "ffn_up": wide,
        "ffn_down": (WIDTH, HIDDEN),
    }
    outer = {"token_embd": (vocabulary, WIDTH), "output_norm": (WIDTH,), "output": (vocabulary, WIDTH)}
    return {
        **{f"{name}.weight": shape for name, shape in outer.items()},
        **{f"blk.0.{name}.weight": shape for name, shape in block.items()},
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]), window=int(sys.argv[2]))
