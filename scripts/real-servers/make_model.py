#!/usr/bin/env python3
"""Makes two tiny Llama models that a CPU serves at once. Usage: make_model.py FOLDER

rand:  random weights; what it generates does not tokenise back to itself.
chain: the layers add nothing and the output head is a table of successors, so that greedy
       decoding recites one sentence and stops; that text tokenises back to itself.

The tokenizer is trained here on the Python standard library's own source. Nothing is fetched.
"""
import glob
import sys
import sysconfig

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY, WIDTH = 8192, 256
SENTENCE = "The cache holds every earlier turn, so only new words need work now."
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for p in m['content'] %}{{ p.get('text','') }}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def train():
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train(sorted(glob.glob(sysconfig.get_paths()["stdlib"] + "/*.py")), trainer)
    return tokenizer


def fresh(end):
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=512, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=64,
            max_position_embeddings=32768, rope_theta=1e6, bos_token_id=None, eos_token_id=end,
            pad_token_id=0, tie_word_embeddings=False,
        )
    )


def recite(model, tokenizer, end):
    """Zeroes the layers and makes the head a table: after token a comes token b."""
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embedding = torch.nn.functional.normalize(torch.randn(VOCABULARY, WIDTH), dim=-1)
        model.model.embed_tokens.weight.copy_(embedding)
        model.lm_head.weight.zero_()
        words = tokenizer.encode(SENTENCE).ids
        chain = [tokenizer.encode("\n").ids[-1], *words, end]
        assert len(set(chain)) == len(chain), "a token occurs twice, so it has two successors"
        for before, after in zip(chain, chain[1:]):
            model.lm_head.weight[after] = embedding[before] * 4


def save(model, tokenizer, folder):
    model.to(torch.bfloat16).save_pretrained(folder)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>",
        model_max_length=32768,
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)


def main():
    folder = sys.argv[1]
    tokenizer = train()
    end = tokenizer.token_to_id("<|im_end|>")
    save(fresh(end), tokenizer, f"{folder}/rand")
    model = fresh(end)
    recite(model, tokenizer, end)
    save(model, tokenizer, f"{folder}/chain")
    print("made", f"{folder}/rand", "and", f"{folder}/chain")


main()
