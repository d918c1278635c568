#!/bin/bash
bash "$TEST_DIR/test_outputs.sh"
